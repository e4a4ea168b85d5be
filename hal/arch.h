// SPDX-License-Identifier: Apache-2.0
// Constants per architecture (device-memory.md 1), taken from the address map in uapi/.
#pragma once

#include <cstdint>

constexpr uint32_t HAL_MAX_HBM = 4;
constexpr uint32_t HAL_MAX_CORES = 8;

// al_hal_tpb_arch_type (mem-ref.md 3.4).
enum al_hal_tpb_arch_type : uint32_t {
  AL_HAL_TPB_ARCH_TYPE_INVALID = 0,
  AL_HAL_TPB_ARCH_TYPE_INVALID_1 = 1,
  AL_HAL_TPB_ARCH_TYPE_SUNDA = 2,    // v2: Trn1, Inf2
  AL_HAL_TPB_ARCH_TYPE_CAYMAN = 3,   // v3: Trn2
  AL_HAL_TPB_ARCH_TYPE_MARIANA = 4,  // v4: Trn3
  AL_HAL_TPB_ARCH_TYPE_NUM = 5,
};

struct hal_arch_t {
  al_hal_tpb_arch_type arch;
  const char *name;                       // "sunda", "cayman"
  const char *nc_name;                    // "NCv2", "NCv3"
  uint32_t api_level_min, api_level_max;  // runtime API levels this library speaks
  uint32_t cores_per_device;
  uint32_t cores_per_hbm;
  uint32_t hbm_count;
  uint64_t hbm_base[HAL_MAX_HBM];
  uint64_t hbm_size;        // bytes per channel
  uint64_t hbm_reserved;    // firmware carve-out at the channel's start
  uint64_t hbm_small_pool;  // bytes at the channel's end
  uint64_t tpb_base[HAL_MAX_CORES];
  uint64_t sbuf_window;  // 32 MiB aperture
  uint64_t sbuf_partition_stride;
  uint64_t sbuf_partition_size;  // physical bytes per partition
  uint64_t psum_offset;
  uint64_t event_offset;  // events and semaphores inside the core window
  uint64_t host_window_bit;
  uint32_t default_lnc;  // logical core size
  uint32_t max_lnc;
};

// nullptr for an architecture without constants here.
const hal_arch_t *hal_arch_get(uint32_t arch);

// Device address of byte `offset` of core `nc_id`'s state buffer: the tile base plus the offset.
// Returns all ones when the core or the offset is out of range.
uint64_t aws_hal_stpb_get_axi_offset(const hal_arch_t *arch, uint32_t nc_id, uint64_t offset);

// True when [address, address + 1) lies in the 32 MiB state-buffer window of that core.
bool hal_address_in_sbuf(const hal_arch_t *arch, uint32_t nc_id, uint64_t address);

// HBM channel that holds `pa`, or -1.
int hal_hbm_of_address(const hal_arch_t *arch, uint64_t pa);

inline uint32_t hal_default_hbm(const hal_arch_t *arch, uint32_t nc_id) {
  return nc_id / arch->cores_per_hbm;
}
