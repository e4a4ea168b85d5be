// SPDX-License-Identifier: Apache-2.0
#include "kmgr/kmgr.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#include "base/nlog.h"
#include "kmgr/checks.h"
#include "kmgr/dlr.h"
#include "kmgr/parse_cache.h"
#include "kmgr/registry.h"

struct kmgr_t {
  tdrv_t *tdrv;
  kmgr_options_t options;
  uint32_t num_vncs;
  parse_cache cache;  // outlives the registry, whose entries hold leases
  kmgr_registry registry;
  std::mutex counts_mutex;
  std::vector<uint32_t> counts;  // models per logical core, loads under way included
};

namespace {

// A place on a logical core, kept while a load is under way so that parallel loads spread.
class core_reservation {
 public:
  core_reservation(kmgr_t *kmgr, int32_t wanted) : kmgr_(kmgr) {
    std::lock_guard lock(kmgr->counts_mutex);
    vnc_ = wanted >= 0 ? static_cast<uint32_t>(wanted) : 0;
    for (uint32_t i = 0; wanted < 0 && i < kmgr->num_vncs; i++) {
      if (kmgr->counts[i] < kmgr->counts[vnc_])
        vnc_ = i;
    }
    kmgr->counts[vnc_]++;
  }
  core_reservation(const core_reservation &) = delete;
  core_reservation &operator=(const core_reservation &) = delete;
  ~core_reservation() {
    if (kmgr_ == nullptr)
      return;
    std::lock_guard lock(kmgr_->counts_mutex);
    kmgr_->counts[vnc_]--;
  }
  void keep() { kmgr_ = nullptr; }
  uint32_t vnc() const { return vnc_; }

 private:
  kmgr_t *kmgr_;
  uint32_t vnc_;
};

// The numbers of a model whose load is under way, given back when it fails.
class number_reservation {
 public:
  number_reservation(kmgr_registry *registry, kmgr_entry_t *entry, uint32_t num_models)
      : registry_(registry), entry_(entry) {
    registry->reserve(entry, num_models);
  }
  number_reservation(const number_reservation &) = delete;
  number_reservation &operator=(const number_reservation &) = delete;
  ~number_reservation() {
    if (registry_ != nullptr)
      registry_->cancel(entry_);
  }
  void keep() { registry_ = nullptr; }

 private:
  kmgr_registry *registry_;
  const kmgr_entry_t *entry_;
};

// A staged model whose load is under way.
class staged_model {
 public:
  staged_model() = default;
  staged_model(const staged_model &) = delete;
  staged_model &operator=(const staged_model &) = delete;
  ~staged_model() { dlr_kelf_unstage(&model); }
  void keep() { model = {}; }
  dlr_model_t model = {};
};

// The one ERROR line of a refused file.
NRT_STATUS refuse(const finding_sink &findings, NRT_STATUS status) {
  if (findings.empty()) {
    NLOG_ERROR(NLOG_NMGR, "NEFF refused with status {} and no finding", static_cast<int>(status));
    return status;
  }
  const finding &first = findings.all().front();
  NLOG_ERROR(NLOG_NMGR, "NEFF refused: {}: {}", first.where, first.what);
  return status;
}

std::string_view header_name(const neff_header_t &header) {
  return {header.name, strnlen(header.name, sizeof(header.name))};
}

NRT_STATUS load(kmgr_t *kmgr, std::span<const uint8_t> file, int32_t vnc, H_NN *out) {
  if (vnc < -1 || vnc >= static_cast<int64_t>(kmgr->num_vncs)) {
    NLOG_ERROR(NLOG_NMGR, "logical core {} does not exist; accepted: -1 (any) and 0 to {}", vnc,
               kmgr->num_vncs - 1);
    return NRT_INVALID;
  }
  const tdrv_options_t *tdrv_opts = tdrv_options(kmgr->tdrv);

  // What the header alone can refuse comes before the digest and the archive.
  finding_sink findings;
  neff_header_t header{};
  NRT_STATUS status = neff_header_check(file, findings, &header);
  if (status == NRT_SUCCESS)
    status = kmgr_check_lnc(header, tdrv_opts->lnc, findings);
  if (status != NRT_SUCCESS)
    return refuse(findings, status);

  parse_lease lease;
  status = kmgr->cache.acquire(
      parse_key_make(header.uuid, file),
      [&](std::shared_ptr<const kelf_nn_t> *nn) {
        return kmgr_parse(file, kmgr->options, findings, nn);
      },
      &lease);
  if (status == NRT_SUCCESS)
    status = kmgr_check_target(*lease.nn(), *hal_arch(tdrv_hal(kmgr->tdrv)),
                               kmgr->options.kelf.allow_legacy_neff, findings);
  if (status != NRT_SUCCESS)
    return refuse(findings, status);

  auto entry = std::make_unique<kmgr_entry_t>();
  core_reservation core(kmgr, vnc);
  entry->vnc = core.vnc();
  entry->nn = lease.nn();
  uint32_t num_models = static_cast<uint32_t>(lease.nn()->kbins.size());
  bool reused = lease.reused();
  entry->lease = std::move(lease);

  number_reservation numbers(&kmgr->registry, entry.get(), num_models);
  std::string name(header_name(header));
  tdrv_neff_t neff = {name.c_str(), {}};
  std::copy_n(entry->h_models, TDRV_MAX_LNC, neff.ids);
  staged_model staged;
  status = dlr_kelf_stage(tdrv_vcore(kmgr->tdrv, core.vnc()), entry->nn.get(), tdrv_opts, &neff,
                          &staged.model);
  if (status != NRT_SUCCESS)
    return status;
  entry->placement = staged.model.placement;
  entry->exec = staged.model.exec;

  std::string target = entry->nn->target_name;
  H_NN h_nn = kmgr->registry.add(entry);
  numbers.keep();
  staged.keep();
  uint32_t used_vnc = core.vnc();
  core.keep();
  *out = h_nn;
  NLOG_INFO(NLOG_NMGR,
            "loaded model {}: '{}', UUID {}, {} bytes, target '{}', {} subgraph(s), logical core "
            "{}{}",
            h_nn, header_name(header), neff_uuid_text(header.uuid), file.size(), target, num_models,
            used_vnc, reused ? ", parse reused" : "");
  return NRT_SUCCESS;
}

void release(kmgr_t *kmgr, kmgr_entry_t *entry) {
  dlr_model_t staged = {entry->placement, entry->exec};
  dlr_kelf_unstage(&staged);
  entry->placement = nullptr;
  entry->exec = nullptr;
  uint32_t vnc = entry->vnc;
  H_NN h_nn = entry->h_nn;
  std::unique_ptr<kmgr_entry_t> owned = kmgr->registry.remove_end(entry);
  owned.reset();
  {
    std::lock_guard lock(kmgr->counts_mutex);
    kmgr->counts[vnc]--;
  }
  NLOG_INFO(NLOG_NMGR, "unloaded model {} from logical core {}", h_nn, vnc);
}

}  // namespace

NRT_STATUS kmgr_create(tdrv_t *tdrv, const kmgr_options_t *options, kmgr_t **out) {
  *out = nullptr;
  try {
    auto kmgr = std::make_unique<kmgr_t>();
    kmgr->tdrv = tdrv;
    kmgr->options = *options;
    kmgr->num_vncs = tdrv_vnc_count(tdrv);
    kmgr->counts.assign(kmgr->num_vncs, 0);
    *out = kmgr.release();
    return NRT_SUCCESS;
  } catch (const std::bad_alloc &) {
    NLOG_ERROR(NLOG_NMGR, "no host memory for the model registry");
    return NRT_RESOURCE;
  }
}

void kmgr_destroy(kmgr_t *kmgr) {
  if (kmgr == nullptr)
    return;
  while (H_NN h_nn = kmgr->registry.newest()) {
    if (kmgr_entry_t *entry = kmgr->registry.remove_begin(h_nn))
      release(kmgr, entry);
  }
  delete kmgr;
}

NRT_STATUS kmgr_load(kmgr_t *kmgr, const void *bytes, size_t size, int32_t vnc, H_NN *out) {
  if (bytes == nullptr || size == 0) {
    NLOG_ERROR(NLOG_NMGR, "no NEFF given: {} bytes at {}", size, fmt::ptr(bytes));
    return NRT_INVALID;
  }
  try {
    return load(kmgr, {static_cast<const uint8_t *>(bytes), size}, vnc, out);
  } catch (const std::bad_alloc &) {
    NLOG_ERROR(NLOG_NMGR, "no host memory left while loading a NEFF of {} bytes", size);
    return NRT_RESOURCE;
  } catch (const std::exception &e) {
    NLOG_ERROR(NLOG_NMGR, "loading a NEFF of {} bytes failed: {}", size, e.what());
    return NRT_FAILURE;
  }
}

NRT_STATUS kmgr_unload(kmgr_t *kmgr, H_NN h_nn) {
  kmgr_entry_t *entry = kmgr->registry.remove_begin(h_nn);
  if (entry == nullptr) {
    NLOG_ERROR(NLOG_NMGR, "no model {} is loaded", h_nn);
    return NRT_INVALID_HANDLE;
  }
  release(kmgr, entry);
  return NRT_SUCCESS;
}

kmgr_model_t *kmgr_model_get(kmgr_t *kmgr, H_NN h_nn) {
  return kmgr->registry.get(h_nn);
}

void kmgr_model_put(kmgr_t *kmgr, kmgr_model_t *model) {
  kmgr->registry.put(static_cast<kmgr_entry_t *>(model));
}

size_t kmgr_models(kmgr_t *kmgr, H_NN *out, size_t capacity) {
  return kmgr->registry.list(out, capacity);
}

void kmgr_cache_stats(kmgr_t *kmgr, kmgr_cache_stats_t *out) {
  kmgr->cache.stats(out);
}
