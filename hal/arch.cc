// SPDX-License-Identifier: Apache-2.0
#include "hal/arch.h"

#include "base/checked.h"
#include "uapi/neuron_address_map.h"

static_assert(HAL_MAX_HBM == NEURON_MAX_HBM && HAL_MAX_CORES == NEURON_MAX_CORES);
static_assert(static_cast<uint32_t>(AL_HAL_TPB_ARCH_TYPE_SUNDA) == NEURON_ARCH_V2 &&
              static_cast<uint32_t>(AL_HAL_TPB_ARCH_TYPE_CAYMAN) == NEURON_ARCH_V3);

namespace {

// What an architecture adds to the address map.
struct arch_facts_t {
  al_hal_tpb_arch_type arch;
  const char *name;
  const char *nc_name;
  // API levels this library has the requests for: from level 6 on (throttle notifications, reset
  // per core, notification queues that can be set up again) on v2, all of v3's.
  uint32_t api_level_min, api_level_max;
  uint64_t sbuf_partition_size;
  uint32_t default_lnc, max_lnc;
};

hal_arch_t build(const arch_facts_t &facts) {
  neuron_arch_counts counts = neuron_arch_counts_get(facts.arch);
  hal_arch_t arch = {};
  arch.arch = facts.arch;
  arch.name = facts.name;
  arch.nc_name = facts.nc_name;
  arch.api_level_min = facts.api_level_min;
  arch.api_level_max = facts.api_level_max;
  arch.cores_per_device = counts.cores;
  arch.cores_per_hbm = counts.cores_per_hbm;
  arch.hbm_count = counts.hbms;
  for (uint32_t hbm = 0; hbm < counts.hbms; ++hbm)
    arch.hbm_base[hbm] = neuron_hbm_base(facts.arch, hbm);
  arch.hbm_size = neuron_hbm_size(facts.arch);
  arch.hbm_reserved = NEURON_HBM_RESERVED;
  arch.hbm_small_pool = NEURON_HBM_SMALL_POOL;
  for (uint32_t core = 0; core < counts.cores; ++core)
    arch.tpb_base[core] = neuron_tpb_base(facts.arch, core);
  arch.sbuf_window = NEURON_SBUF_APERTURE;
  arch.sbuf_partition_stride = NEURON_SBUF_PARTITION_STRIDE;
  arch.sbuf_partition_size = facts.sbuf_partition_size;
  arch.psum_offset = neuron_psum_offset(facts.arch);
  arch.event_offset = neuron_event_offset(facts.arch);
  arch.host_window_bit = neuron_host_window_bit(facts.arch);
  arch.default_lnc = facts.default_lnc;
  arch.max_lnc = facts.max_lnc;
  return arch;
}

}  // namespace

const hal_arch_t *hal_arch_get(uint32_t arch) {
  static const hal_arch_t sunda = build(
      {AL_HAL_TPB_ARCH_TYPE_SUNDA, "sunda", "NCv2", 6, 7, NEURON_V2_SBUF_PARTITION_SIZE, 1, 1});
  static const hal_arch_t cayman = build(
      {AL_HAL_TPB_ARCH_TYPE_CAYMAN, "cayman", "NCv3", 10, 11, NEURON_V3_SBUF_PARTITION_SIZE, 2, 2});
  switch (arch) {
    case AL_HAL_TPB_ARCH_TYPE_SUNDA:
      return &sunda;
    case AL_HAL_TPB_ARCH_TYPE_CAYMAN:
      return &cayman;
    default:
      return nullptr;
  }
}

uint64_t aws_hal_stpb_get_axi_offset(const hal_arch_t *arch, uint32_t nc_id, uint64_t offset) {
  if (nc_id >= arch->cores_per_device || offset >= arch->sbuf_window)
    return UINT64_MAX;
  return arch->tpb_base[nc_id] + offset;
}

bool hal_address_in_sbuf(const hal_arch_t *arch, uint32_t nc_id, uint64_t address) {
  return nc_id < arch->cores_per_device && address >= arch->tpb_base[nc_id] &&
         address - arch->tpb_base[nc_id] < arch->sbuf_window;
}

int hal_hbm_of_address(const hal_arch_t *arch, uint64_t pa) {
  for (uint32_t hbm = 0; hbm < arch->hbm_count; ++hbm) {
    if (pa >= arch->hbm_base[hbm] && pa - arch->hbm_base[hbm] < arch->hbm_size)
      return static_cast<int>(hbm);
  }
  return -1;
}
