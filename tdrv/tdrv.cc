// SPDX-License-Identifier: Apache-2.0
#include "tdrv/tdrv.h"

#include <strings.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/env.h"
#include "base/nlog.h"
#include "tdrv/core_reset.h"
#include "tdrv/exec.h"
#include "tdrv/export.h"
#include "tdrv/state.h"

namespace {

constexpr uint64_t kMiB = 1ull << 20;
constexpr uint64_t kPageStepMiB = TDRV_SCRATCHPAD_PAGE_ALIGN / kMiB;
constexpr uint64_t kPageMaxMiB = 4096 - kPageStepMiB;  // the page size is a 32-bit number of bytes
constexpr uint64_t kDocumentedStepMiB = 512;
constexpr uint64_t kExecTimeout = 30;  // seconds

NRT_STATUS page_size_from_env(tdrv_options_t *options) {
  // The older name still works; the newer one wins.
  const char *name = "NEURON_SCRATCHPAD_PAGE_SIZE";
  if (!env_is_set(name) && env_is_set("NEURON_RT_ONE_TMPBUF_PAGE_SIZE_MB"))
    name = "NEURON_RT_ONE_TMPBUF_PAGE_SIZE_MB";
  uint64_t mib = 0;
  NRT_STATUS status =
      env_u64(name, TDRV_SCRATCHPAD_PAGED_DEFAULT / kMiB, kPageStepMiB, kPageMaxMiB, &mib);
  if (status != NRT_SUCCESS)
    return status;
  if (mib % kPageStepMiB != 0) {
    NLOG_ERROR(NLOG_TDRV, "{}={}: a scratchpad page is a multiple of {} MiB, at most {} MiB", name,
               mib, kPageStepMiB, kPageMaxMiB);
    return NRT_INVALID;
  }
  if (mib % kDocumentedStepMiB != 0)
    NLOG_WARN(NLOG_TDRV, "{}={} is not a multiple of {} MiB; taken as it is", name, mib,
              kDocumentedStepMiB);
  options->scratchpad_page_size = mib * kMiB;
  return NRT_SUCCESS;
}

NRT_STATUS io_placement_from_env(tdrv_options_t *options) {
  std::string text = env_string("NEURON_RT_IO_PLACEMENT", "load");
  if (strcasecmp(text.c_str(), "load") == 0) {
    options->io_placement_at_load = true;
  } else if (strcasecmp(text.c_str(), "bind") == 0) {
    options->io_placement_at_load = false;
  } else {
    NLOG_ERROR(NLOG_TDRV, "NEURON_RT_IO_PLACEMENT='{}' is neither 'load' nor 'bind'", text);
    return NRT_INVALID;
  }
  return NRT_SUCCESS;
}

NRT_STATUS check_range(const hal_t *hal, const tdrv_options_t *options) {
  const hal_arch_t *arch = hal_arch(hal);
  uint64_t cores = uint64_t{hal_identity(hal)->device_count} * arch->cores_per_device;
  if (options->lnc == 0 || options->lnc > arch->max_lnc || options->lnc > TDRV_MAX_LNC ||
      arch->cores_per_device % options->lnc != 0) {
    NLOG_ERROR(NLOG_TDRV, "logical cores of {} physical cores do not exist on {}: the limit is {}",
               options->lnc, arch->name, arch->max_lnc);
    return NRT_INVALID;
  }
  uint64_t logical = cores / options->lnc;
  if (options->num_vncs == 0 || options->num_vncs > logical ||
      options->first_vnc > logical - options->num_vncs) {
    NLOG_ERROR(NLOG_TDRV, "logical cores {} to {} are not on this machine, which has 0 to {}",
               options->first_vnc, uint64_t{options->first_vnc} + options->num_vncs - 1,
               logical - 1);
    return NRT_INVALID;
  }
  return NRT_SUCCESS;
}

NRT_STATUS claim_cores(tdrv_t *tdrv) {
  if (tdrv->options.cores_claimed) {
    tdrv->claimed = true;
    return NRT_SUCCESS;
  }
  uint32_t last = tdrv->first_core + tdrv->num_cores - 1;
  uint32_t claimed = 0, available = 0;
  int rc =
      hal_cores_claim(tdrv->hal, tdrv->num_cores, tdrv->first_core, last, &claimed, &available);
  if (rc == 0) {
    tdrv->claimed = true;
    return NRT_SUCCESS;
  }
  if (rc == -EBUSY) {
    NLOG_ERROR(NLOG_TDRV,
               "cores nc{}-nc{} are in use by another process: {} needed, {} available in a row",
               tdrv->first_core, last, tdrv->num_cores, available);
  } else {
    NLOG_ERROR(NLOG_TDRV, "cores nc{}-nc{} cannot be claimed: {} (error {})", tdrv->first_core,
               last, strerror(-rc), -rc);
  }
  return NRT_FAILURE;
}

NRT_STATUS open_devices(tdrv_t *tdrv) {
  for (uint32_t i = 0; i < tdrv->num_devices; ++i) {
    tdrv_device_t *d = &tdrv->devices[i];
    NRT_STATUS status = hal_device_open(tdrv->hal, tdrv->first_device + i, &d->device);
    if (status != NRT_SUCCESS)
      return status;
    status = dmem_device_create(hal_device_index(d->device), &d->stats);
    if (status != NRT_SUCCESS)
      return status;
    dmem_device_set_lnc(d->stats, tdrv->options.lnc);
  }
  return NRT_SUCCESS;
}

// One contiguous region per HBM needs a driver that hands its pages out and a process that owns the
// whole HBM; a logical core of one physical core on the newer parts owns half of it.
bool use_contiguous(const tdrv_t *tdrv) {
  bool shares_hbm =
      hal_arch(tdrv->hal)->arch > AL_HAL_TPB_ARCH_TYPE_SUNDA && tdrv->options.lnc == 1;
  return tdrv->options.want_contiguous_scratchpad && !shares_hbm &&
         (hal_identity(tdrv->hal)->features & HAL_FEATURE_CONTIGUOUS_SCRATCHPAD) != 0;
}

NRT_STATUS init_tpb(tdrv_t *tdrv, tpb_t *tpb, uint32_t core, bool contiguous) {
  uint32_t per_device = hal_arch(tdrv->hal)->cores_per_device;
  uint32_t position = core / per_device;
  const tdrv_device_t *d = &tdrv->devices[position - tdrv->first_device];
  NRT_STATUS status = pcore_init(&tpb->pcore, d->device, position, core % per_device, d->stats);
  if (status != NRT_SUCCESS)
    return status;
  status =
      dmem_allocator_create(dmem_allocator_type_t::GLOBAL, &tpb->pcore, &tpb->global_allocator);
  if (status == NRT_SUCCESS) {
    status = tdrv_scratchpad_init(&tpb->scratchpad, tdrv->options.scratchpad_page_size, contiguous);
    if (status == NRT_SUCCESS)
      return NRT_SUCCESS;
    dmem_allocator_destroy(tpb->global_allocator);
  }
  pcore_fini(&tpb->pcore);
  return status;
}

void fini_tpb(tpb_t *tpb) {
  tdrv_scratchpad_fini(&tpb->scratchpad);
  dmem_allocator_destroy(tpb->global_allocator);
  pcore_fini(&tpb->pcore);
}

NRT_STATUS init_cores(tdrv_t *tdrv) {
  bool contiguous = use_contiguous(tdrv);
  for (uint32_t i = 0; i < tdrv->num_cores; ++i) {
    NRT_STATUS status = init_tpb(tdrv, &tdrv->tpbs[i], tdrv->first_core + i, contiguous);
    if (status != NRT_SUCCESS)
      return status;
    ++tdrv->tpbs_ready;
  }
  for (uint32_t i = 0; i < tdrv->options.num_vncs; ++i) {
    vcore_t *vcore = &tdrv->vcores[i];
    vcore->vnc = i;
    vcore->num_tpbs = tdrv->options.lnc;
    for (uint32_t k = 0; k < vcore->num_tpbs; ++k)
      vcore->tpbs[k] = &tdrv->tpbs[i * tdrv->options.lnc + k];
    vcore->exec = exec_unit_create(vcore, &tdrv->options);
    if (vcore->exec == nullptr) {
      NLOG_ERROR(NLOG_TDRV, "no host memory for the execution unit of logical core {}", i);
      return NRT_RESOURCE;
    }
  }
  return NRT_SUCCESS;
}

NRT_STATUS set_up(tdrv_t *tdrv) {
  uint32_t per_device = hal_arch(tdrv->hal)->cores_per_device;
  tdrv->num_cores = tdrv->options.num_vncs * tdrv->options.lnc;
  tdrv->first_core = tdrv->options.first_vnc * tdrv->options.lnc;
  tdrv->first_device = tdrv->first_core / per_device;
  tdrv->num_devices =
      (tdrv->first_core + tdrv->num_cores - 1) / per_device + 1 - tdrv->first_device;
  tdrv->devices = static_cast<tdrv_device_t *>(calloc(tdrv->num_devices, sizeof(tdrv_device_t)));
  tdrv->tpbs = static_cast<tpb_t *>(calloc(tdrv->num_cores, sizeof(tpb_t)));
  tdrv->vcores = static_cast<vcore_t *>(calloc(tdrv->options.num_vncs, sizeof(vcore_t)));
  if (tdrv->devices == nullptr || tdrv->tpbs == nullptr || tdrv->vcores == nullptr) {
    NLOG_ERROR(NLOG_TDRV, "no host memory for {} cores", tdrv->num_cores);
    return NRT_RESOURCE;
  }
  NRT_STATUS status = claim_cores(tdrv);
  if (status == NRT_SUCCESS)
    status = open_devices(tdrv);
  if (status == NRT_SUCCESS && tdrv->options.reset_cores)
    status = core_reset_all(tdrv);
  if (status == NRT_SUCCESS)
    status = core_init_mark(tdrv, false);
  if (status == NRT_SUCCESS)
    status = init_cores(tdrv);
  if (status == NRT_SUCCESS)
    status = core_init_mark(tdrv, true);
  return status;
}

}  // namespace

NRT_STATUS tdrv_options_from_env(tdrv_options_t *options) {
  NRT_STATUS status =
      env_bool("NEURON_RT_CONTIGUOUS_SCRATCHPAD", true, &options->want_contiguous_scratchpad);
  if (status == NRT_SUCCESS)
    status = env_bool("NEURON_RT_RESET_CORES", true, &options->reset_cores);
  if (status == NRT_SUCCESS)
    status = env_bool("NEURON_RT_MAP_HBM", false, &options->map_hbm);
  if (status == NRT_SUCCESS)
    status = env_bool("NEURON_RT_ENABLE_P2P", true, &options->p2p);
  if (status == NRT_SUCCESS)
    status = env_u64("NEURON_RT_EXEC_TIMEOUT", kExecTimeout, 0, INT_MAX, &options->exec_timeout);
  if (status == NRT_SUCCESS)
    status = env_bool("NEURON_RT_EXPERIMENTAL_HW_EXEC", false, &options->hw_exec);
  if (status == NRT_SUCCESS)
    status = env_bool("NEURON_MOCK_WAIT_FULL_TIMEOUT", false, &options->wait_full_timeout);
  if (status == NRT_SUCCESS)
    status = page_size_from_env(options);
  if (status == NRT_SUCCESS)
    status = io_placement_from_env(options);
  return status;
}

NRT_STATUS tdrv_init(hal_t *hal, const tdrv_options_t *options, tdrv_t **out) {
  *out = nullptr;
  NRT_STATUS status = check_range(hal, options);
  if (status != NRT_SUCCESS)
    return status;
  auto *tdrv = static_cast<tdrv_t *>(calloc(1, sizeof(tdrv_t)));
  if (tdrv == nullptr || pthread_mutex_init(&tdrv->storages_lock, nullptr) != 0) {
    NLOG_ERROR(NLOG_TDRV, "no host memory for the runtime's state");
    free(tdrv);
    return NRT_RESOURCE;
  }
  tdrv->hal = hal;
  tdrv->options = *options;
  status = set_up(tdrv);
  if (status != NRT_SUCCESS) {
    tdrv_close(tdrv);
    return status;
  }
  NLOG_INFO(
      NLOG_TDRV, "{} logical cores of {} on nc{}-nc{} ({}), scratchpad {} with pages of {} MiB",
      options->num_vncs, options->lnc, tdrv->first_core, tdrv->first_core + tdrv->num_cores - 1,
      hal_arch(hal)->name, tdrv->tpbs[0].scratchpad.is_contiguous ? "contiguous" : "paged",
      tdrv->tpbs[0].scratchpad.page_size / kMiB);
  *out = tdrv;
  return NRT_SUCCESS;
}

void tdrv_close(tdrv_t *tdrv) {
  if (tdrv == nullptr)
    return;
  tensor_release_all(tdrv);
  for (uint32_t i = 0; tdrv->vcores != nullptr && i < tdrv->options.num_vncs; ++i)
    exec_unit_destroy(tdrv->vcores[i].exec);
  while (tdrv->tpbs_ready > 0)
    fini_tpb(&tdrv->tpbs[--tdrv->tpbs_ready]);
  tdrv_unmap_hbms(tdrv);
  for (uint32_t i = 0; tdrv->devices != nullptr && i < tdrv->num_devices; ++i) {
    if (tdrv->devices[i].stats != nullptr)
      dmem_device_destroy(tdrv->devices[i].stats);
    if (tdrv->devices[i].device != nullptr)
      hal_device_close(tdrv->devices[i].device);
  }
  if (tdrv->claimed)
    (void)hal_cores_release(tdrv->hal, tdrv->first_core, tdrv->num_cores);
  pthread_mutex_destroy(&tdrv->storages_lock);
  free(tdrv->devices);
  free(tdrv->tpbs);
  free(tdrv->vcores);
  free(tdrv);
}

uint32_t tdrv_vnc_count(const tdrv_t *tdrv) {
  return tdrv->options.num_vncs;
}

vcore_t *tdrv_vcore(tdrv_t *tdrv, uint32_t vnc) {
  return vnc < tdrv->options.num_vncs ? &tdrv->vcores[vnc] : nullptr;
}

const tdrv_options_t *tdrv_options(const tdrv_t *tdrv) {
  return &tdrv->options;
}

hal_t *tdrv_hal(const tdrv_t *tdrv) {
  return tdrv->hal;
}
