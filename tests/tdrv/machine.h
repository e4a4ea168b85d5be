// SPDX-License-Identifier: Apache-2.0
// A mocked machine with the core set up on it, a log watcher, and hand-built plans.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "base/nlog.h"
#include "dmem/accounting.h"
#include "mock_dev/mock_dev.h"
#include "tdrv/dma_ring.h"
#include "tdrv/model.h"
#include "tdrv/tdrv.h"
#include "uapi/neuron_ioctl.h"

constexpr uint64_t kKiB = 1ull << 10, kMiB = 1ull << 20, kGiB = 1ull << 30;

// Collects ERROR and DEBUG lines of all threads.
class log_watch {
 public:
  explicit log_watch(bool debug = false) {
    setenv("NEURON_RT_LOG_LEVEL", debug ? "DEBUG" : "QUIET", 1);
    setenv("NEURON_RT_LOG_LOCATION", "/dev/null", 1);
    nlog_configure_from_env();
    nlog_set_hook(&log_watch::line, this);
  }
  ~log_watch() {
    nlog_set_hook(nullptr, nullptr);
    unsetenv("NEURON_RT_LOG_LOCATION");
    setenv("NEURON_RT_LOG_LEVEL", "QUIET", 1);
    nlog_configure_from_env();
  }
  std::vector<std::string> take_errors() {
    std::lock_guard lock(mutex_);
    return std::exchange(errors_, {});
  }
  std::vector<std::string> debug() {
    std::lock_guard lock(mutex_);
    return debug_;
  }

 private:
  static void line(void *user, nlog_component, nlog_level level, const char *,
                   std::string_view text) {
    auto *self = static_cast<log_watch *>(user);
    std::lock_guard lock(self->mutex_);
    if (level == NLOG_LEVEL_ERROR)
      self->errors_.emplace_back(text);
    if (level == NLOG_LEVEL_DEBUG)
      self->debug_.emplace_back(text);
  }
  std::mutex mutex_;
  std::vector<std::string> errors_, debug_;
};

struct machine_options {
  const char *instance = "trn2.3xlarge";
  uint32_t lnc = 2;
  uint32_t first_vnc = 0, num_vncs = 1;
  bool contiguous = true;
  uint64_t page_size = TDRV_SCRATCHPAD_PAGED_DEFAULT;
  bool io_at_load = true;
  const char *hide_features = nullptr;
  const char *hbm_size = nullptr;
};

class machine {
 public:
  explicit machine(const machine_options &o = {}) {
    set_or_unset("NEURON_MOCK_HIDE_FEATURES", o.hide_features);
    set_or_unset("NEURON_MOCK_HBM_SIZE", o.hbm_size);
    hal_options_t options;
    options.mock = HAL_MOCK_ALWAYS;
    options.mock_instance = o.instance;
    EXPECT_EQ(hal_open(&options, &hal), NRT_SUCCESS);
    set_or_unset("NEURON_MOCK_HIDE_FEATURES", nullptr);
    set_or_unset("NEURON_MOCK_HBM_SIZE", nullptr);
    tdrv_options = {o.lnc, o.first_vnc, o.num_vncs, o.contiguous, o.page_size, o.io_at_load};
    if (hal != nullptr) {
      EXPECT_EQ(tdrv_init(hal, &tdrv_options, &tdrv), NRT_SUCCESS);
    }
  }
  ~machine() {
    tdrv_close(tdrv);
    if (hal != nullptr)
      hal_close(hal);
  }
  machine(const machine &) = delete;
  machine &operator=(const machine &) = delete;

  vcore_t *vcore(uint32_t vnc = 0) { return tdrv_vcore(tdrv, vnc); }
  tpb_t *tpb(uint32_t index = 0, uint32_t vnc = 0) { return vcore(vnc)->tpbs[index]; }
  mock_host_t *host() { return hal_mock_host(hal); }

  // The driver's own list: HBM, address, size, category.
  using chunk = std::tuple<uint32_t, uint64_t, uint64_t, uint32_t>;
  std::vector<chunk> chunks(uint32_t position = 0) {
    std::vector<chunk> all;
    hal_device_t *device = nullptr;
    EXPECT_EQ(hal_device_open(hal, position, &device), NRT_SUCCESS);
    for (uint32_t hbm = 0; hbm < hal_arch(hal)->hbm_count; ++hbm) {
      std::vector<hal_chunk_t> list(8192);
      auto count = static_cast<uint32_t>(list.size());
      EXPECT_EQ(hal_dump_chunks(device, hbm, list.data(), &count), 0);
      for (uint32_t i = 0; i < count; ++i)
        all.emplace_back(hbm, list[i].pa, list[i].size, list[i].category);
    }
    hal_device_close(device);
    std::sort(all.begin(), all.end());
    return all;
  }

  uint64_t usage(dma_mem_usage_type_t type, uint32_t index = 0) {
    dmem_usage_table_t table;
    dmem_device_snapshot(tpb(index)->pcore.stats, &table);
    return table.by_usage[tpb(index)->pcore.nc_id][static_cast<uint32_t>(type)];
  }
  dmem_usage_table_t counters() {
    dmem_usage_table_t table;
    dmem_device_snapshot(tpb()->pcore.stats, &table);
    return table;
  }

  void *dram(uint64_t pa, uint64_t size) { return mock_dram(host(), 0, pa, size); }

  // Chunks requested of the driver so far, whatever the form of the request.
  uint64_t allocations() {
    return mock_ioctl_count(host(), NEURON_IOCTL_MEM_ALLOC) +
           mock_ioctl_count(host(), NEURON_IOCTL_MEM_ALLOC_V2) +
           mock_ioctl_count(host(), NEURON_IOCTL_MEM_ALLOC_V2MT) +
           mock_ioctl_count(host(), NEURON_IOCTL_MEM_ALLOC_V2MT64);
  }
  void fail(uint32_t request, uint32_t nth, int error, bool sticky = false) {
    mock_fault_t fault = {request, nth, error, sticky};
    EXPECT_EQ(mock_set_faults(host(), &fault, 1), 0);
  }
  void heal() { EXPECT_EQ(mock_set_faults(host(), nullptr, 0), 0); }

  hal_t *hal = nullptr;
  tdrv_t *tdrv = nullptr;
  tdrv_options_t tdrv_options;

 private:
  static void set_or_unset(const char *name, const char *value) {
    if (value != nullptr)
      setenv(name, value, 1);
    else
      unsetenv(name);
  }
};

// Bridge records written by hand. Ids count from 0 in the order of the calls.
class plan {
 public:
  uint32_t add(kbin_mr_type_t kind, const char *name, uint64_t size, uint64_t alignment = 0,
               const void *payload = nullptr) {
    kbin_mem_ref r{};
    r.mr_type = kind;
    r.name = strdup(name);
    r.size = size;
    r.alignment = alignment;
    r.var_id = static_cast<uint32_t>(records_.size());
    r.buffer = static_cast<uint8_t *>(const_cast<void *>(payload));
    records_.push_back(r);
    return r.var_id;
  }
  uint32_t virt(const char *name, uint64_t offset, uint64_t size,
                kbin_backing_buf_t backing = KBIN_BACKING_BUF_MAIN) {
    uint32_t id = add(MR_VIRTUAL_TMP_BUF, name, size);
    records_[id].virt = {offset, backing};
    uint64_t &arena = kbin_backing_buf_is_shared(backing) ? shared_ : local_;
    arena = std::max(arena, offset + size);
    return id;
  }
  uint32_t ptr(const char *name, uint32_t target, bool io = false) {
    uint32_t id = add(MR_PTR, name, 8);
    records_[id].ptr = {target, io};
    return id;
  }
  uint32_t list(kbin_mr_type_t kind, const char *name, const std::vector<uint32_t> &ids) {
    uint32_t id = add(kind, name, 0);
    records_[id].list.length = static_cast<uint32_t>(ids.size());
    records_[id].list.list =
        static_cast<uint32_t *>(calloc(std::max<size_t>(ids.size(), 1), sizeof(uint32_t)));
    std::copy(ids.begin(), ids.end(), records_[id].list.list);
    return id;
  }
  uint32_t remote(const char *name, uint32_t sg, uint32_t target) {
    uint32_t id = add(MR_REMOTE, name, 0);
    records_[id].remote = {sg, target};
    return id;
  }
  kbin_mem_ref &operator[](uint32_t id) { return records_[id]; }

  // Hands the records over; the plan is empty afterwards.
  std::unique_ptr<kbin_t> build(const char *sg = "sg00") {
    auto kbin = std::make_unique<kbin_t>();
    kbin->sg_name = sg;
    kbin->mem_ref_set = kbin_mem_ref_set_alloc(static_cast<uint32_t>(records_.size()));
    kbin->mem_ref_set->nmem = static_cast<uint32_t>(records_.size());
    kbin->mem_ref_set->local_scratchpad_size = local_;
    kbin->mem_ref_set->shared_scratchpad_size = shared_;
    std::copy(records_.begin(), records_.end(), kbin->mem_ref_set->mem);
    records_.clear();
    return kbin;
  }
  ~plan() {
    for (kbin_mem_ref &r : records_)
      free(r.name);
  }
  plan() = default;
  plan(const plan &) = delete;
  plan &operator=(const plan &) = delete;

 private:
  std::vector<kbin_mem_ref> records_;
  uint64_t local_ = 0, shared_ = 0;
};

inline std::unique_ptr<kelf_nn_t> model_of(plan &first) {
  auto nn = std::make_unique<kelf_nn_t>();
  nn->kbins.push_back(first.build("sg00"));
  return nn;
}
inline std::unique_ptr<kelf_nn_t> model_of(plan &first, plan &second) {
  auto nn = model_of(first);
  nn->kbins.push_back(second.build("sg01"));
  return nn;
}

// A loaded model that unloads itself.
class loaded {
 public:
  loaded(machine &m, const kelf_nn_t &nn, uint32_t vnc = 0) {
    status = vtpb_info_shared_init_vtpb(m.vcore(vnc), &nn, &m.tdrv_options, nullptr, &info);
  }
  ~loaded() { vtpb_info_shared_free(info); }
  loaded(const loaded &) = delete;
  loaded &operator=(const loaded &) = delete;
  mem_ref_t *var(uint32_t id, uint32_t sg = 0) {
    return lookup_memref_by_idx(info->mr_sets[sg].mem_ref_set, id);
  }
  uint64_t address(uint32_t id, uint32_t sg = 0) {
    uint64_t address = MEM_REF_NOT_STAGED;
    EXPECT_EQ(mem_ref_to_addr(var(id, sg), 0, 0, &address), NRT_SUCCESS) << id;
    return address;
  }
  void unload() {
    vtpb_info_shared_free(info);
    info = nullptr;
  }
  NRT_STATUS status;
  vtpb_info_shared_t *info = nullptr;
};
