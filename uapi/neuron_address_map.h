/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where things are on a device: memory channels, core windows, TOP_SPs, DMA engines, as device
 * addresses (what DMA and instructions use) and as BAR offsets (what the host sees). Facts:
 * mock-device-semantics.md 2, uapi.md 8, device-memory.md 1.
 *
 * hal/ and mock_dev/ both read this file and keep no addresses of their own. Functions answer
 * NEURON_NO_ADDRESS for an architecture or an index that does not exist; address 0 is a real one.
 */
#ifndef UAPI_NEURON_ADDRESS_MAP_H
#define UAPI_NEURON_ADDRESS_MAP_H

#include "uapi/neuron_shared.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NEURON_NO_ADDRESS UINT64_MAX

/* --- counts ----------------------------------------------------------------------------------- */

/* One row per architecture; all zero for an unknown one. */
struct neuron_arch_counts {
  uint32_t cores;           /* physical cores per device */
  uint32_t dies;            /* per device */
  uint32_t top_sps;         /* per device */
  uint32_t hbms;            /* memory channels per device */
  uint32_t regions_per_hbm; /* the driver's subdivision of a channel */
  uint32_t cores_per_hbm;   /* 0: no fixed relation (v1) */
  uint32_t dma_engines;     /* per device */
  uint32_t dma_descs_per_packet;
  uint32_t semaphores;                   /* per core */
  uint32_t events;                       /* per core */
  uint32_t api_level_min, api_level_max; /* runtime API range of driver 2.24.7 */
};

static inline struct neuron_arch_counts neuron_arch_counts_get(uint32_t arch) {
  static const struct neuron_arch_counts rows[] = {
      {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
      {4, 1, 0, 2, 4, 0, 12, 128, 32, 256, 2, 7},
      {2, 1, 6, 2, 1, 1, 34, 64, 256, 256, 5, 7},
      {8, 2, 16, 4, 1, 2, 132, 64, 256, 256, 10, 11},
  };
  return rows[arch <= NEURON_ARCH_V3 ? arch : 0];
}

/* --- device memory ---------------------------------------------------------------------------- */

#define NEURON_HBM_RESERVED 0x1000000ull    /* firmware's, at the start of each channel (v2, v3) */
#define NEURON_HBM_SMALL_POOL 0x40000000ull /* at the end of each channel (v2, v3) */
#define NEURON_SMALL_ALLOC_MAX 0x80000ull   /* largest size sent to the small pool first */
#define NEURON_MEM_GRANULE 4096ull

static inline uint64_t neuron_hbm_size(uint32_t arch) {
  switch (arch) {
    case NEURON_ARCH_V1:
      return 0x100000000ull;
    case NEURON_ARCH_V2:
      return 0x400000000ull;
    case NEURON_ARCH_V3:
      return 0x600000000ull;
    default:
      return 0;
  }
}

static inline uint64_t neuron_hbm_base(uint32_t arch, uint32_t hbm) {
  if (hbm >= neuron_arch_counts_get(arch).hbms)
    return NEURON_NO_ADDRESS;
  if (arch == NEURON_ARCH_V3) /* bit 38: half of the die, bit 47: die */
    return (uint64_t)(hbm & 1u) * 0x4000000000ull + (uint64_t)(hbm >> 1) * 0x800000000000ull;
  return (uint64_t)hbm * 0x1000000000ull;
}

/* The channel that may hold a device address: no other does. */
static inline uint32_t neuron_hbm_near(uint32_t arch, uint64_t address) {
  if (arch == NEURON_ARCH_V3)
    return (uint32_t)(address >> 38 & 1) | (uint32_t)(address >> 47 & 1) << 1;
  return (uint32_t)(address >> 36 & 1);
}

/* BAR4 packs the channels closer than device addresses do. */
static inline uint64_t neuron_hbm_bar4_offset(uint32_t arch, uint32_t hbm) {
  if (hbm >= neuron_arch_counts_get(arch).hbms)
    return NEURON_NO_ADDRESS;
  return (uint64_t)hbm * (arch == NEURON_ARCH_V3 ? 0x1000000000ull : neuron_hbm_size(arch));
}

/* Host memory as a device address: bus address with this bit set. Also its mmap cookie. */
#define NEURON_V1_HOST_WINDOW_BIT 0x400000000000ull
#define NEURON_V2_HOST_WINDOW_BIT 0x100000000000ull
#define NEURON_V3_HOST_WINDOW_BIT 0x400000000000ull

static inline uint64_t neuron_host_window_bit(uint32_t arch) {
  switch (arch) {
    case NEURON_ARCH_V1:
      return NEURON_V1_HOST_WINDOW_BIT;
    case NEURON_ARCH_V2:
      return NEURON_V2_HOST_WINDOW_BIT;
    case NEURON_ARCH_V3:
      return NEURON_V3_HOST_WINDOW_BIT;
    default:
      return 0;
  }
}

/* --- core windows (v2, v3) -------------------------------------------------------------------- */

#define NEURON_SBUF_APERTURE 0x2000000ull /* at the start of a core window */
#define NEURON_SBUF_PARTITIONS 128
#define NEURON_SBUF_PARTITION_STRIDE 0x40000ull
#define NEURON_V2_SBUF_PARTITION_SIZE 0x30000ull /* bytes that exist: 192 KiB */
#define NEURON_V3_SBUF_PARTITION_SIZE 0x38000ull /* 224 KiB */
#define NEURON_PSUM_PARTITION_SIZE 0x4000ull     /* 16 KiB */
#define NEURON_PSUM_APERTURE 0x400000ull
#define NEURON_PSUM_PARTITION_STRIDE 0x8000ull

#define NEURON_V2_TPB_BASE 0xfffc0000000ull
#define NEURON_V2_TPB_SIZE 0x4000000ull
#define NEURON_V2_PSUM_OFFSET 0x2000000ull
#define NEURON_V2_EVENT_OFFSET 0x2700000ull

#define NEURON_V3_TPB_BASE 0x2000000000ull
#define NEURON_V3_TPB_SIZE 0x804000000ull
#define NEURON_V3_PSUM_OFFSET 0x802000000ull
#define NEURON_V3_EVENT_OFFSET 0x802700000ull

static inline uint64_t neuron_tpb_base(uint32_t arch, uint32_t core) {
  if (core >= neuron_arch_counts_get(arch).cores)
    return NEURON_NO_ADDRESS;
  if (arch == NEURON_ARCH_V2)
    return NEURON_V2_TPB_BASE + core * NEURON_V2_TPB_SIZE;
  if (arch == NEURON_ARCH_V3)
    return NEURON_V3_TPB_BASE + (core & 1u) * 0x1000000000ull +
           ((core >> 1) & 1u) * 0x4000000000ull + (core >> 2) * 0x800000000000ull;
  return NEURON_NO_ADDRESS;
}

/* The core whose window may hold a device address: no other does. */
static inline uint32_t neuron_tpb_near(uint32_t arch, uint64_t address) {
  if (arch == NEURON_ARCH_V3)
    return (uint32_t)(address >> 36 & 1) | (uint32_t)(address >> 38 & 1) << 1 |
           (uint32_t)(address >> 47 & 1) << 2;
  return (uint32_t)(address / NEURON_V2_TPB_SIZE & 1);
}

static inline uint64_t neuron_tpb_size(uint32_t arch) {
  return arch == NEURON_ARCH_V2   ? NEURON_V2_TPB_SIZE
         : arch == NEURON_ARCH_V3 ? NEURON_V3_TPB_SIZE
                                  : 0;
}

/* Offset of events and semaphores in the device-address window of a core. */
static inline uint64_t neuron_event_offset(uint32_t arch) {
  return arch == NEURON_ARCH_V2   ? NEURON_V2_EVENT_OFFSET
         : arch == NEURON_ARCH_V3 ? NEURON_V3_EVENT_OFFSET
                                  : NEURON_NO_ADDRESS;
}

static inline uint64_t neuron_psum_offset(uint32_t arch) {
  return arch == NEURON_ARCH_V2   ? NEURON_V2_PSUM_OFFSET
         : arch == NEURON_ARCH_V3 ? NEURON_V3_PSUM_OFFSET
                                  : NEURON_NO_ADDRESS;
}

/* Inside an event block (core or TOP_SP): 4 bytes per event or semaphore. */
#define NEURON_EVENT_BLOCK_SIZE 0x2000ull
#define NEURON_EVENT_STATE 0x0000ull
#define NEURON_SEMAPHORE_READ 0x1000ull
#define NEURON_SEMAPHORE_SET 0x1400ull
#define NEURON_SEMAPHORE_INCREMENT 0x1800ull
#define NEURON_SEMAPHORE_DECREMENT 0x1c00ull

/* BAR0 view of a core: always 64 MiB apart, events at 0x2700000 on both architectures. */
#define NEURON_BAR0_TPB_STRIDE 0x4000000ull
#define NEURON_BAR0_EVENT_OFFSET 0x2700000ull
#define NEURON_V3_BAR0_TPB 0xd0000000ull

static inline uint64_t neuron_tpb_bar0_offset(uint32_t arch, uint32_t core) {
  if (neuron_tpb_base(arch, core) == NEURON_NO_ADDRESS)
    return NEURON_NO_ADDRESS;
  return (arch == NEURON_ARCH_V3 ? NEURON_V3_BAR0_TPB : 0) + core * NEURON_BAR0_TPB_STRIDE;
}

/* --- TOP_SPs ---------------------------------------------------------------------------------- */

#define NEURON_TOP_SP_SIZE 0x400000ull
#define NEURON_V2_TOP_SP_BASE 0xfffd0000000ull
#define NEURON_V2_BAR0_TOP_SP 0x10000000ull
#define NEURON_V3_TOP_SP_BASE 0x8280000000ull
#define NEURON_V3_TOP_SP_STRIDE 0x40000000ull
#define NEURON_V3_TOP_SP_WINDOWS_PER_DIE 10 /* 8 of them in use */
#define NEURON_V3_TOP_SPS_PER_DIE 8
#define NEURON_V3_DIE_BIT 0x800000000000ull
#define NEURON_V3_BAR0_TOP_SP_DIE0 0xf0000000ull
#define NEURON_V3_BAR0_TOP_SP_DIE1 0xf2800000ull

static inline uint64_t neuron_top_sp_base(uint32_t arch, uint32_t top_sp) {
  if (top_sp >= neuron_arch_counts_get(arch).top_sps)
    return NEURON_NO_ADDRESS;
  if (arch == NEURON_ARCH_V2)
    return NEURON_V2_TOP_SP_BASE + top_sp * NEURON_TOP_SP_SIZE;
  return NEURON_V3_TOP_SP_BASE + (top_sp / NEURON_V3_TOP_SPS_PER_DIE) * NEURON_V3_DIE_BIT +
         (top_sp % NEURON_V3_TOP_SPS_PER_DIE) * NEURON_V3_TOP_SP_STRIDE;
}

static inline uint64_t neuron_top_sp_bar0_offset(uint32_t arch, uint32_t top_sp) {
  if (top_sp >= neuron_arch_counts_get(arch).top_sps)
    return NEURON_NO_ADDRESS;
  if (arch == NEURON_ARCH_V2)
    return NEURON_V2_BAR0_TOP_SP + top_sp * NEURON_TOP_SP_SIZE;
  return (top_sp < NEURON_V3_TOP_SPS_PER_DIE ? NEURON_V3_BAR0_TOP_SP_DIE0
                                             : NEURON_V3_BAR0_TOP_SP_DIE1) +
         (top_sp % NEURON_V3_TOP_SPS_PER_DIE) * NEURON_TOP_SP_SIZE;
}

/* --- special mappings: RESOURCE_MMAP_INFO and mmap (uapi.md 8) ---------------------------------
 */

/*
 * Cookie and length of a special mapping; returns 0, or -1 when the chip has no such entry. The
 * cookie names the mapping, no more: on v3 cores above 0 it is not the core's device address.
 * *bar and *bar_offset say what the mapping shows.
 */
static inline int neuron_special_mapping(uint32_t arch, uint32_t block, uint32_t block_id,
                                         uint32_t resource, uint64_t *cookie, uint64_t *length,
                                         uint32_t *bar, uint64_t *bar_offset) {
  if (arch != NEURON_ARCH_V2 && arch != NEURON_ARCH_V3)
    return -1;
  *bar = 0;
  if (block == NEURON_MMAP_BLOCK_TPB) {
    uint64_t tpb = neuron_tpb_bar0_offset(arch, block_id);
    if (tpb == NEURON_NO_ADDRESS)
      return -1;
    *cookie = (arch == NEURON_ARCH_V2 ? NEURON_V2_TPB_BASE : NEURON_V3_TPB_BASE) +
              block_id * NEURON_BAR0_TPB_STRIDE;
    *bar_offset = tpb;
    *length = NEURON_SBUF_APERTURE;
    if (resource == NEURON_MMAP_RESOURCE_SBUF)
      return 0;
    *cookie += NEURON_BAR0_EVENT_OFFSET;
    *bar_offset += NEURON_BAR0_EVENT_OFFSET;
    *length = NEURON_EVENT_BLOCK_SIZE;
    return resource == NEURON_MMAP_RESOURCE_SEMAPHORE ? 0 : -1;
  }
  if (block == NEURON_MMAP_BLOCK_TOP_SP) {
    *cookie = neuron_top_sp_base(arch, block_id);
    *bar_offset = neuron_top_sp_bar0_offset(arch, block_id);
    *length = resource == NEURON_MMAP_RESOURCE_ALL ? NEURON_TOP_SP_SIZE : NEURON_EVENT_BLOCK_SIZE;
    if (*cookie == NEURON_NO_ADDRESS)
      return -1;
    return resource == NEURON_MMAP_RESOURCE_ALL || resource == NEURON_MMAP_RESOURCE_SEMAPHORE ? 0
                                                                                              : -1;
  }
  if (block == NEURON_MMAP_BLOCK_HBM && arch == NEURON_ARCH_V3 &&
      resource == NEURON_MMAP_RESOURCE_DMEM) {
    *cookie = neuron_hbm_base(arch, block_id);
    if (*cookie == NEURON_NO_ADDRESS)
      return -1;
    *length = neuron_hbm_size(arch);
    *bar = 4;
    *bar_offset = neuron_hbm_bar4_offset(arch, block_id);
    return 0;
  }
  return -1;
}

/* --- DMA engines ------------------------------------------------------------------------------ */

#define NEURON_DMA_ENGINES_PER_CORE 16 /* v2, v3 */

/* Register block of an engine in BAR0. */
static inline uint64_t neuron_udma_bar0_offset(uint32_t arch, uint32_t engine) {
  if (arch == NEURON_ARCH_V2) {
    if (engine < 16)
      return 0x30000000ull + engine * 0x40000ull;
    if (engine < 32)
      return 0x30700000ull + (engine - 16) * 0x40000ull;
    return engine == 32 ? 0x30600000ull : engine == 33 ? 0x30d00000ull : NEURON_NO_ADDRESS;
  }
  if (arch == NEURON_ARCH_V3) {
    static const uint64_t base[4] = {0x82000000ull, 0x94000000ull, 0xa2000000ull, 0xb4000000ull};
    static const uint64_t copy[4] = {0x6800000ull, 0x6900000ull, 0x46800000ull, 0x46900000ull};
    if (engine < 128)
      return base[engine / 32] + (engine % 32) * 0x100000ull;
    return engine < 132 ? copy[engine - 128] : NEURON_NO_ADDRESS;
  }
  return NEURON_NO_ADDRESS;
}

/* The engine whose register block may hold a BAR0 offset: no other does. UINT32_MAX: none. */
static inline uint32_t neuron_udma_engine_near(uint32_t arch, uint64_t offset) {
  uint64_t at;
  if (arch == NEURON_ARCH_V2) {
    for (uint32_t core = 0; core < 2; ++core) {
      at = offset - neuron_udma_bar0_offset(arch, core * NEURON_DMA_ENGINES_PER_CORE);
      if (at < NEURON_DMA_ENGINES_PER_CORE * 0x40000ull)
        return core * NEURON_DMA_ENGINES_PER_CORE + (uint32_t)(at / 0x40000ull);
      if (offset - neuron_udma_bar0_offset(arch, 32 + core) < 0x40000ull)
        return 32 + core;
    }
  }
  if (arch == NEURON_ARCH_V3) {
    for (uint32_t quarter = 0; quarter < 4; ++quarter) {
      at = offset - neuron_udma_bar0_offset(arch, quarter * 32);
      if (at < 32 * 0x100000ull)
        return quarter * 32 + (uint32_t)(at / 0x100000ull);
      if (offset - neuron_udma_bar0_offset(arch, 128 + quarter) < 0x100000ull)
        return 128 + quarter;
    }
  }
  return UINT32_MAX;
}

/*
 * Broadcast window of a core: TX queue registers for its 16 engines at once, RX ones NEURON_UDMA_RX
 * further up. On v2 only that of core 0 is known.
 */
static inline uint64_t neuron_udma_broadcast_bar0_offset(uint32_t arch, uint32_t core) {
  if (arch == NEURON_ARCH_V2)
    return core == 0 ? 0x31000000ull : NEURON_NO_ADDRESS;
  if (arch != NEURON_ARCH_V3 || core >= 8)
    return NEURON_NO_ADDRESS;
  return neuron_udma_bar0_offset(arch, core * NEURON_DMA_ENGINES_PER_CORE) + 0x80000ull;
}

/* Engine and queue the driver itself copies with on behalf of a core. */
static inline uint32_t neuron_copy_engine(uint32_t arch, uint32_t core) {
  switch (arch) {
    case NEURON_ARCH_V1:
      return core * 3 + 2;
    case NEURON_ARCH_V2:
      return core == 0 ? 32 : 33;
    default:
      return 128 + core / 2;
  }
}

static inline uint32_t neuron_copy_queue(uint32_t arch, uint32_t core) {
  return arch == NEURON_ARCH_V1 ? 15 : arch == NEURON_ARCH_V3 ? core % 2 : 0;
}

/* Nonzero when a hardware sequencer owns this queue. */
static inline int neuron_queue_is_sequencer(uint32_t arch, uint32_t engine, uint32_t queue) {
  uint32_t lane = engine % 16;
  if (queue != 14)
    return 0;
  if (arch == NEURON_ARCH_V2)
    return lane < 11;
  return arch == NEURON_ARCH_V3 && (lane <= 4 || lane == 7 || lane == 8);
}

/* --- notification blocks ---------------------------------------------------------------------- */

static inline uint64_t neuron_nq_core_bar0_offset(uint32_t arch, uint32_t core) {
  static const uint64_t v2[2] = {0x30535000ull, 0x30c35000ull};
  static const uint64_t v3[8] = {0x6001000ull,  0x6181000ull,  0x6401000ull,  0x6581000ull,
                                 0x46001000ull, 0x46181000ull, 0x46401000ull, 0x46581000ull};
  if (arch == NEURON_ARCH_V2 && core < 2)
    return v2[core];
  return arch == NEURON_ARCH_V3 && core < 8 ? v3[core] : NEURON_NO_ADDRESS;
}

static inline uint64_t neuron_nq_top_sp_bar0_offset(uint32_t arch, uint32_t top_sp) {
  if (top_sp >= neuron_arch_counts_get(arch).top_sps)
    return NEURON_NO_ADDRESS;
  if (arch == NEURON_ARCH_V2)
    return 0x30e04000ull + top_sp * 0x40000ull;
  return 0x6a00000ull + (top_sp % 8) * 0x40000ull + (top_sp / 8) * 0x40000000ull;
}

static inline uint64_t neuron_nq_dma_trace_bar0_offset(uint32_t arch, uint32_t core,
                                                       uint32_t engine) {
  static const uint64_t v3[8] = {0x82041000ull, 0x83041000ull, 0x94041000ull, 0x95041000ull,
                                 0xa2041000ull, 0xa3041000ull, 0xb4041000ull, 0xb5041000ull};
  if (engine >= NEURON_DMA_ENGINES_PER_CORE)
    return NEURON_NO_ADDRESS;
  if (arch == NEURON_ARCH_V2 && core < 2)
    return (core == 0 ? 0x30401000ull : 0x30b01000ull) + engine * 0x7000ull;
  return arch == NEURON_ARCH_V3 && core < 8 ? v3[core] + engine * 0x100000ull : NEURON_NO_ADDRESS;
}

/* Registers of hardware queue q: block + NEURON_NQ_STRIDE * q + one of these. */
#define NEURON_NQ_STRIDE 0x28ull
#define NEURON_NQ_ADDRESS_LOW 0x100ull
#define NEURON_NQ_ADDRESS_HIGH 0x104ull
#define NEURON_NQ_SIZE 0x108ull /* bytes */
#define NEURON_NQ_HEAD 0x10cull
#define NEURON_NQ_TAIL 0x110ull

/* --- other blocks ----------------------------------------------------------------------------- */

#define NEURON_V2_APB_BASE 0xffff0000000ull
#define NEURON_V2_BAR0_APB 0x30000000ull
#define NEURON_V2_MISC_RAM 0xffff0fa0000ull /* firmware mailbox */
#define NEURON_V2_BAR0_MISC_RAM 0x30fa0000ull
#define NEURON_V3_MISC_RAM 0x8006c84000ull
#define NEURON_V3_BAR0_MISC_RAM 0x6c84000ull
#define NEURON_V3_PREPROC_SIZE 0x34c0000ull

/* BAR0 offset of a device address in the register (APB) space. */
static inline uint64_t neuron_apb_bar0_offset(uint32_t arch, uint64_t address) {
  uint64_t at;
  if (arch == NEURON_ARCH_V2) {
    at = address - NEURON_V2_APB_BASE;
    return at < 0x10000000ull ? NEURON_V2_BAR0_APB + at : NEURON_NO_ADDRESS;
  }
  if (arch != NEURON_ARCH_V3)
    return NEURON_NO_ADDRESS;
  for (uint32_t die = 0; die < 2; ++die) {
    at = address - 0x8000000000ull - die * NEURON_V3_DIE_BIT;
    if (at < 0x40000000ull)
      return die * 0x40000000ull + at;
    for (uint32_t half = 0; half < 2; ++half) {
      at = address - 0x1000000000ull - half * 0x4000000000ull - die * NEURON_V3_DIE_BIT;
      if (at < 0x10000000ull)
        return 0x80000000ull + (die * 2 + half) * 0x10000000ull + at;
    }
  }
  return NEURON_NO_ADDRESS;
}

/* The reverse: the device address of a BAR0 offset in the register space. */
static inline uint64_t neuron_apb_address(uint32_t arch, uint64_t bar0) {
  if (arch == NEURON_ARCH_V2) {
    uint64_t at = bar0 - NEURON_V2_BAR0_APB;
    return at < 0x10000000ull ? NEURON_V2_APB_BASE + at : NEURON_NO_ADDRESS;
  }
  if (arch != NEURON_ARCH_V3 || bar0 >= 0xc0000000ull)
    return NEURON_NO_ADDRESS;
  if (bar0 < 0x80000000ull)
    return 0x8000000000ull + (bar0 >> 30) * NEURON_V3_DIE_BIT + (bar0 & 0x3fffffffull);
  uint64_t quarter = (bar0 - 0x80000000ull) >> 28;
  return 0x1000000000ull + (quarter & 1u) * 0x4000000000ull + (quarter >> 1) * NEURON_V3_DIE_BIT +
         (bar0 & 0xfffffffull);
}

/* DMA registers as instructions address them: an engine's, a core's broadcast window. */
static inline uint64_t neuron_udma_address(uint32_t arch, uint32_t engine) {
  return neuron_apb_address(arch, neuron_udma_bar0_offset(arch, engine));
}

static inline uint64_t neuron_udma_broadcast_address(uint32_t arch, uint32_t core) {
  return neuron_apb_address(arch, neuron_udma_broadcast_bar0_offset(arch, core));
}

/* Two words that read as 0 and 1: what event clears and semaphore increments copy from. */
#define NEURON_EVENT_CONSTANTS_SIZE 8ull
static inline uint64_t neuron_event_constants(uint32_t arch) {
  return arch == NEURON_ARCH_V2   ? 0x2000000000ull
         : arch == NEURON_ARCH_V3 ? 0x9000000000ull
                                  : NEURON_NO_ADDRESS;
}

/* Pre-processing blocks, 4 on v3: part of what PROGRAM_ENGINE may write. */
static inline uint64_t neuron_preproc_base(uint32_t arch, uint32_t block) {
  if (arch != NEURON_ARCH_V3 || block >= 4)
    return NEURON_NO_ADDRESS;
  return 0x1200000000ull + (block & 1u) * 0x4000000000ull + (block >> 1) * 0x800000000000ull;
}

/* Neighbour memory windows (v3): one per link. */
#define NEURON_V3_NEIGHBOUR_WINDOW_SIZE 0x4000000000000ull
static inline uint64_t neuron_neighbour_window(uint32_t arch, uint32_t link) {
  if (arch != NEURON_ARCH_V3 || link >= 4)
    return NEURON_NO_ADDRESS;
  return 0x10000000000000ull + link * 0x4000000000000ull;
}

/* Misc RAM registers, offsets in the block. Values of 0xdeadbeef mean "not ready". */
#define NEURON_MISC_API_VERSION 0x00
#define NEURON_MISC_ROUTING_ID 0x24
#define NEURON_MISC_SERIAL_LOW 0x38
#define NEURON_MISC_SERIAL_HIGH 0x3c
#define NEURON_MISC_SRAM_ECC 0x40
#define NEURON_MISC_HBM_ECC 0x44 /* 4 words; low 16 bits count uncorrected errors */
#define NEURON_MISC_POWER 0x54   /* 2 words */
#define NEURON_MISC_HBM_REPAIR 0x64
#define NEURON_MISC_METRICS 0x100 /* 0x80 bytes */
#define NEURON_MISC_RESET_MAP 0x1d8
#define NEURON_MISC_RESET_REQUEST 0x1ec /* reads 0 once accepted */
#define NEURON_MISC_MAILBOX 0x1f0       /* 4 words */
#define NEURON_MISC_DOORBELL 0x800
#define NEURON_MISC_STATUS 0x808 /* bit 3: reset still running */

#ifdef __cplusplus
}
#endif

#endif
