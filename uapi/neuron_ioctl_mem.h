/* SPDX-License-Identifier: Apache-2.0 */
/* Argument structures: memory (uapi.md 6.3). */
#ifndef UAPI_NEURON_IOCTL_MEM_H
#define UAPI_NEURON_IOCTL_MEM_H

#include "uapi/neuron_abi.h"

#ifdef __cplusplus
extern "C" {
#endif

/* MEM_ALLOC: the first allocation request: no alignment, no category. */
struct neuron_ioctl_mem_alloc {
  uint64_t size;         /* in: bytes */
  uint32_t host_memory;  /* in: 1 host, 0 device */
  uint32_t dram_channel; /* in: HBM number, checked even for host memory */
  uint32_t dram_region;  /* in: ignored on v2 and v3 */
  uint32_t nc_id;        /* in */
  uint64_t *mem_handle;  /* out */
};
NEURON_ABI_SIZE(neuron_ioctl_mem_alloc, 32, 8);
NEURON_ABI_AT(neuron_ioctl_mem_alloc, size, 0);
NEURON_ABI_AT(neuron_ioctl_mem_alloc, host_memory, 8);
NEURON_ABI_AT(neuron_ioctl_mem_alloc, dram_channel, 12);
NEURON_ABI_AT(neuron_ioctl_mem_alloc, dram_region, 16);
NEURON_ABI_AT(neuron_ioctl_mem_alloc, nc_id, 20);
NEURON_ABI_AT(neuron_ioctl_mem_alloc, mem_handle, 24);

/* MEM_ALLOC_V2: with an alignment. */
struct neuron_ioctl_mem_alloc_v2 {
  uint64_t size;         /* in: bytes */
  uint64_t align;        /* in: bytes; 0 for host memory */
  uint32_t host_memory;  /* in: 1 host, 0 device */
  uint32_t dram_channel; /* in: HBM number, checked even for host memory */
  uint32_t dram_region;  /* in: ignored on v2 and v3 */
  uint32_t nc_id;        /* in */
  uint64_t *mem_handle;  /* out */
};
NEURON_ABI_SIZE(neuron_ioctl_mem_alloc_v2, 40, 8);
NEURON_ABI_AT(neuron_ioctl_mem_alloc_v2, size, 0);
NEURON_ABI_AT(neuron_ioctl_mem_alloc_v2, align, 8);
NEURON_ABI_AT(neuron_ioctl_mem_alloc_v2, host_memory, 16);
NEURON_ABI_AT(neuron_ioctl_mem_alloc_v2, dram_channel, 20);
NEURON_ABI_AT(neuron_ioctl_mem_alloc_v2, dram_region, 24);
NEURON_ABI_AT(neuron_ioctl_mem_alloc_v2, nc_id, 28);
NEURON_ABI_AT(neuron_ioctl_mem_alloc_v2, mem_handle, 32);

/* MEM_ALLOC_V2MT: with alignment and category (NEURON_MEM_*). */
struct neuron_ioctl_mem_alloc_v2_mem_type {
  uint64_t size;         /* in: bytes */
  uint64_t align;        /* in: bytes; 0 for host memory */
  uint32_t host_memory;  /* in: 1 host, 0 device */
  uint32_t dram_channel; /* in: HBM number, checked even for host memory */
  uint32_t dram_region;  /* in: ignored on v2 and v3 */
  uint32_t nc_id;        /* in */
  uint32_t mem_type;     /* in: NEURON_MEM_* */
  uint64_t *mem_handle;  /* out */
};
NEURON_ABI_SIZE(neuron_ioctl_mem_alloc_v2_mem_type, 48, 8);
NEURON_ABI_AT(neuron_ioctl_mem_alloc_v2_mem_type, size, 0);
NEURON_ABI_AT(neuron_ioctl_mem_alloc_v2_mem_type, align, 8);
NEURON_ABI_AT(neuron_ioctl_mem_alloc_v2_mem_type, host_memory, 16);
NEURON_ABI_AT(neuron_ioctl_mem_alloc_v2_mem_type, dram_channel, 20);
NEURON_ABI_AT(neuron_ioctl_mem_alloc_v2_mem_type, dram_region, 24);
NEURON_ABI_AT(neuron_ioctl_mem_alloc_v2_mem_type, nc_id, 28);
NEURON_ABI_AT(neuron_ioctl_mem_alloc_v2_mem_type, mem_type, 32);
NEURON_ABI_AT(neuron_ioctl_mem_alloc_v2_mem_type, mem_handle, 40);

/* MEM_ALLOC_V2MT64: as V2MT, only longer, so that it has a request value of its own. */
struct neuron_ioctl_mem_alloc_v2_mem_type64 {
  uint64_t size;         /* in: bytes */
  uint64_t align;        /* in: bytes; 0 for host memory */
  uint32_t host_memory;  /* in: 1 host, 0 device */
  uint32_t dram_channel; /* in: HBM number, checked even for host memory */
  uint32_t dram_region;  /* in: ignored on v2 and v3 */
  uint32_t nc_id;        /* in */
  uint32_t mem_type;     /* in: NEURON_MEM_* */
  uint64_t *mem_handle;  /* out */
  uint32_t pad;          /* never read */
};
NEURON_ABI_SIZE(neuron_ioctl_mem_alloc_v2_mem_type64, 56, 8);
NEURON_ABI_AT(neuron_ioctl_mem_alloc_v2_mem_type64, size, 0);
NEURON_ABI_AT(neuron_ioctl_mem_alloc_v2_mem_type64, align, 8);
NEURON_ABI_AT(neuron_ioctl_mem_alloc_v2_mem_type64, host_memory, 16);
NEURON_ABI_AT(neuron_ioctl_mem_alloc_v2_mem_type64, dram_channel, 20);
NEURON_ABI_AT(neuron_ioctl_mem_alloc_v2_mem_type64, dram_region, 24);
NEURON_ABI_AT(neuron_ioctl_mem_alloc_v2_mem_type64, nc_id, 28);
NEURON_ABI_AT(neuron_ioctl_mem_alloc_v2_mem_type64, mem_type, 32);
NEURON_ABI_AT(neuron_ioctl_mem_alloc_v2_mem_type64, mem_handle, 40);
NEURON_ABI_AT(neuron_ioctl_mem_alloc_v2_mem_type64, pad, 48);

/* MEM_FREE. */
struct neuron_ioctl_mem_free {
  uint64_t mem_handle; /* in */
};
NEURON_ABI_SIZE(neuron_ioctl_mem_free, 8, 8);
NEURON_ABI_AT(neuron_ioctl_mem_free, mem_handle, 0);

/* MEM_GET_PA. */
struct neuron_ioctl_mem_get_pa {
  uint64_t mem_handle; /* in */
  uint64_t *pa;        /* out */
};
NEURON_ABI_SIZE(neuron_ioctl_mem_get_pa, 16, 8);
NEURON_ABI_AT(neuron_ioctl_mem_get_pa, mem_handle, 0);
NEURON_ABI_AT(neuron_ioctl_mem_get_pa, pa, 8);

/* MEM_GET_INFO. */
struct neuron_ioctl_mem_get_info {
  uint64_t mem_handle;   /* in */
  uint64_t *mmap_offset; /* out: NULL allowed */
  uint64_t *pa;          /* out: required */
};
NEURON_ABI_SIZE(neuron_ioctl_mem_get_info, 24, 8);
NEURON_ABI_AT(neuron_ioctl_mem_get_info, mem_handle, 0);
NEURON_ABI_AT(neuron_ioctl_mem_get_info, mmap_offset, 8);
NEURON_ABI_AT(neuron_ioctl_mem_get_info, pa, 16);

/* MEM_GET_EXTENDED_INFO. Overwrites mem_handle with a value that is no handle: keep a copy. */
struct neuron_ioctl_mem_get_extended_info {
  uint64_t mem_handle;  /* in, out */
  uint32_t version;     /* in: unchecked; comes back undefined */
  uint32_t host_memory; /* out: 1 host, 0 device */
  uint64_t mmap_offset; /* out */
  uint64_t pa;          /* out */
  uint64_t pid;         /* out: tgid of the allocator */
  uint64_t size;        /* out: after rounding to pages */
};
NEURON_ABI_SIZE(neuron_ioctl_mem_get_extended_info, 48, 8);
NEURON_ABI_AT(neuron_ioctl_mem_get_extended_info, mem_handle, 0);
NEURON_ABI_AT(neuron_ioctl_mem_get_extended_info, version, 8);
NEURON_ABI_AT(neuron_ioctl_mem_get_extended_info, host_memory, 12);
NEURON_ABI_AT(neuron_ioctl_mem_get_extended_info, mmap_offset, 16);
NEURON_ABI_AT(neuron_ioctl_mem_get_extended_info, pa, 24);
NEURON_ABI_AT(neuron_ioctl_mem_get_extended_info, pid, 32);
NEURON_ABI_AT(neuron_ioctl_mem_get_extended_info, size, 40);

/* MEM_MC_GET_INFO: finds the chunk around an address. */
struct neuron_ioctl_mem_get_mc_mmap_info {
  uint64_t pa;          /* in: anywhere in the chunk */
  uint64_t mmap_offset; /* out: the chunk's start */
  uint64_t size;        /* out */
};
NEURON_ABI_SIZE(neuron_ioctl_mem_get_mc_mmap_info, 24, 8);
NEURON_ABI_AT(neuron_ioctl_mem_get_mc_mmap_info, pa, 0);
NEURON_ABI_AT(neuron_ioctl_mem_get_mc_mmap_info, mmap_offset, 8);
NEURON_ABI_AT(neuron_ioctl_mem_get_mc_mmap_info, size, 16);

/* MEM_MC_GET_INFO_V2: the same, with a handle for the chunk. */
struct neuron_ioctl_mem_get_mc_mmap_info_v2 {
  uint64_t pa;          /* in: anywhere in the chunk */
  uint64_t mmap_offset; /* out: the chunk's start */
  uint64_t size;        /* out */
  uint64_t mem_handle;  /* out */
};
NEURON_ABI_SIZE(neuron_ioctl_mem_get_mc_mmap_info_v2, 32, 8);
NEURON_ABI_AT(neuron_ioctl_mem_get_mc_mmap_info_v2, pa, 0);
NEURON_ABI_AT(neuron_ioctl_mem_get_mc_mmap_info_v2, mmap_offset, 8);
NEURON_ABI_AT(neuron_ioctl_mem_get_mc_mmap_info_v2, size, 16);
NEURON_ABI_AT(neuron_ioctl_mem_get_mc_mmap_info_v2, mem_handle, 24);

/* MEM_COPY, 32-bit sizes. A size of 0 moves 64 KiB on silicon: never send it. */
struct neuron_ioctl_mem_copy {
  uint64_t src_mem_handle; /* in */
  uint64_t dst_mem_handle; /* in */
  uint32_t size;           /* in */
  uint32_t src_offset;     /* in */
  uint32_t dst_offset;     /* in */
};
NEURON_ABI_SIZE(neuron_ioctl_mem_copy, 32, 8);
NEURON_ABI_AT(neuron_ioctl_mem_copy, src_mem_handle, 0);
NEURON_ABI_AT(neuron_ioctl_mem_copy, dst_mem_handle, 8);
NEURON_ABI_AT(neuron_ioctl_mem_copy, size, 16);
NEURON_ABI_AT(neuron_ioctl_mem_copy, src_offset, 20);
NEURON_ABI_AT(neuron_ioctl_mem_copy, dst_offset, 24);

/* MEM_COPY64. */
struct neuron_ioctl_mem_copy64 {
  uint64_t src_mem_handle; /* in */
  uint64_t dst_mem_handle; /* in */
  uint64_t size;           /* in */
  uint64_t src_offset;     /* in */
  uint64_t dst_offset;     /* in */
};
NEURON_ABI_SIZE(neuron_ioctl_mem_copy64, 40, 8);
NEURON_ABI_AT(neuron_ioctl_mem_copy64, src_mem_handle, 0);
NEURON_ABI_AT(neuron_ioctl_mem_copy64, dst_mem_handle, 8);
NEURON_ABI_AT(neuron_ioctl_mem_copy64, size, 16);
NEURON_ABI_AT(neuron_ioctl_mem_copy64, src_offset, 24);
NEURON_ABI_AT(neuron_ioctl_mem_copy64, dst_offset, 32);

/* MEM_COPY_ASYNC: starts a copy, then optionally finishes an earlier one. */
struct neuron_ioctl_mem_copy_async {
  uint64_t src_mem_handle;     /* in */
  uint64_t dst_mem_handle;     /* in */
  uint32_t size;               /* in */
  uint32_t src_offset;         /* in */
  uint32_t dst_offset;         /* in */
  uint64_t host_prefetch_addr; /* in: 0 = none */
  uint32_t pwait_handle;       /* in: NEURON_DMA_WAIT_* */
  uint32_t wait_handle;        /* out: NEURON_DMA_WAIT_* */
};
NEURON_ABI_SIZE(neuron_ioctl_mem_copy_async, 48, 8);
NEURON_ABI_AT(neuron_ioctl_mem_copy_async, src_mem_handle, 0);
NEURON_ABI_AT(neuron_ioctl_mem_copy_async, dst_mem_handle, 8);
NEURON_ABI_AT(neuron_ioctl_mem_copy_async, size, 16);
NEURON_ABI_AT(neuron_ioctl_mem_copy_async, src_offset, 20);
NEURON_ABI_AT(neuron_ioctl_mem_copy_async, dst_offset, 24);
NEURON_ABI_AT(neuron_ioctl_mem_copy_async, host_prefetch_addr, 32);
NEURON_ABI_AT(neuron_ioctl_mem_copy_async, pwait_handle, 40);
NEURON_ABI_AT(neuron_ioctl_mem_copy_async, wait_handle, 44);

/* MEM_COPY_ASYNC64. */
struct neuron_ioctl_mem_copy_async64 {
  uint64_t src_mem_handle;     /* in */
  uint64_t dst_mem_handle;     /* in */
  uint64_t size;               /* in */
  uint64_t src_offset;         /* in */
  uint64_t dst_offset;         /* in */
  uint64_t host_prefetch_addr; /* in: 0 = none */
  uint32_t pwait_handle;       /* in: NEURON_DMA_WAIT_* */
  uint32_t wait_handle;        /* out: NEURON_DMA_WAIT_* */
};
NEURON_ABI_SIZE(neuron_ioctl_mem_copy_async64, 56, 8);
NEURON_ABI_AT(neuron_ioctl_mem_copy_async64, src_mem_handle, 0);
NEURON_ABI_AT(neuron_ioctl_mem_copy_async64, dst_mem_handle, 8);
NEURON_ABI_AT(neuron_ioctl_mem_copy_async64, size, 16);
NEURON_ABI_AT(neuron_ioctl_mem_copy_async64, src_offset, 24);
NEURON_ABI_AT(neuron_ioctl_mem_copy_async64, dst_offset, 32);
NEURON_ABI_AT(neuron_ioctl_mem_copy_async64, host_prefetch_addr, 40);
NEURON_ABI_AT(neuron_ioctl_mem_copy_async64, pwait_handle, 48);
NEURON_ABI_AT(neuron_ioctl_mem_copy_async64, wait_handle, 52);

/* MEM_COPY_ASYNC_WAIT: handles as given to the copy. */
struct neuron_ioctl_mem_copy_async_wait {
  uint64_t src_mem_handle; /* in */
  uint64_t dst_mem_handle; /* in */
  uint32_t pwait_handle;   /* in: NEURON_DMA_WAIT_* */
};
NEURON_ABI_SIZE(neuron_ioctl_mem_copy_async_wait, 24, 8);
NEURON_ABI_AT(neuron_ioctl_mem_copy_async_wait, src_mem_handle, 0);
NEURON_ABI_AT(neuron_ioctl_mem_copy_async_wait, dst_mem_handle, 8);
NEURON_ABI_AT(neuron_ioctl_mem_copy_async_wait, pwait_handle, 16);

/* MEM_BUF_COPY: caller's memory to or from a chunk. */
struct neuron_ioctl_mem_buf_copy {
  uint64_t mem_handle;         /* in */
  void *buffer;                /* in */
  uint32_t size;               /* in */
  uint32_t offset;             /* in */
  uint32_t copy_to_mem_handle; /* in: 0 = chunk to buffer, else buffer to chunk */
};
NEURON_ABI_SIZE(neuron_ioctl_mem_buf_copy, 32, 8);
NEURON_ABI_AT(neuron_ioctl_mem_buf_copy, mem_handle, 0);
NEURON_ABI_AT(neuron_ioctl_mem_buf_copy, buffer, 8);
NEURON_ABI_AT(neuron_ioctl_mem_buf_copy, size, 16);
NEURON_ABI_AT(neuron_ioctl_mem_buf_copy, offset, 20);
NEURON_ABI_AT(neuron_ioctl_mem_buf_copy, copy_to_mem_handle, 24);

/*
 * MEM_BUF_COPY64, MEM_BUF_ZEROCOPY64. Despite the type, sizes of 4 GiB and more lose their
 * high half in MEM_BUF_COPY64.
 */
struct neuron_ioctl_mem_buf_copy64 {
  uint64_t mem_handle;         /* in */
  void *buffer;                /* in */
  uint64_t size;               /* in */
  uint64_t offset;             /* in */
  uint32_t copy_to_mem_handle; /* in: 0 = chunk to buffer, else buffer to chunk */
};
NEURON_ABI_SIZE(neuron_ioctl_mem_buf_copy64, 40, 8);
NEURON_ABI_AT(neuron_ioctl_mem_buf_copy64, mem_handle, 0);
NEURON_ABI_AT(neuron_ioctl_mem_buf_copy64, buffer, 8);
NEURON_ABI_AT(neuron_ioctl_mem_buf_copy64, size, 16);
NEURON_ABI_AT(neuron_ioctl_mem_buf_copy64, offset, 24);
NEURON_ABI_AT(neuron_ioctl_mem_buf_copy64, copy_to_mem_handle, 32);

/* MEMSET. As with copies, size 0 is not a no-op. */
struct neuron_ioctl_memset {
  uint64_t mem_handle; /* in */
  uint64_t offset;     /* in */
  uint32_t value;      /* in: low byte counts */
  uint32_t size;       /* in */
};
NEURON_ABI_SIZE(neuron_ioctl_memset, 24, 8);
NEURON_ABI_AT(neuron_ioctl_memset, mem_handle, 0);
NEURON_ABI_AT(neuron_ioctl_memset, offset, 8);
NEURON_ABI_AT(neuron_ioctl_memset, value, 16);
NEURON_ABI_AT(neuron_ioctl_memset, size, 20);

/* MEMSET64. */
struct neuron_ioctl_memset64 {
  uint64_t mem_handle; /* in */
  uint64_t offset;     /* in */
  uint32_t value;      /* in: low byte counts */
  uint64_t size;       /* in */
};
NEURON_ABI_SIZE(neuron_ioctl_memset64, 32, 8);
NEURON_ABI_AT(neuron_ioctl_memset64, mem_handle, 0);
NEURON_ABI_AT(neuron_ioctl_memset64, offset, 8);
NEURON_ABI_AT(neuron_ioctl_memset64, value, 16);
NEURON_ABI_AT(neuron_ioctl_memset64, size, 24);

/* PROGRAM_ENGINE: writes caller's bytes to an engine window, with core 0's copy engine. */
struct neuron_ioctl_program_engine {
  uint64_t dst;    /* in: device address */
  void *buffer;    /* in */
  uint32_t size;   /* in */
  uint32_t offset; /* in: added to dst and to buffer */
};
NEURON_ABI_SIZE(neuron_ioctl_program_engine, 24, 8);
NEURON_ABI_AT(neuron_ioctl_program_engine, dst, 0);
NEURON_ABI_AT(neuron_ioctl_program_engine, buffer, 8);
NEURON_ABI_AT(neuron_ioctl_program_engine, size, 16);
NEURON_ABI_AT(neuron_ioctl_program_engine, offset, 20);

/* PROGRAM_ENGINE_NC: the same with the copy engine of a chosen core. */
struct neuron_ioctl_program_engine_nc {
  uint32_t nc_id;  /* in */
  uint64_t dst;    /* in: device address */
  void *buffer;    /* in */
  uint32_t size;   /* in */
  uint32_t offset; /* in: added to dst and to buffer */
};
NEURON_ABI_SIZE(neuron_ioctl_program_engine_nc, 32, 8);
NEURON_ABI_AT(neuron_ioctl_program_engine_nc, nc_id, 0);
NEURON_ABI_AT(neuron_ioctl_program_engine_nc, dst, 8);
NEURON_ABI_AT(neuron_ioctl_program_engine_nc, buffer, 16);
NEURON_ABI_AT(neuron_ioctl_program_engine_nc, size, 24);
NEURON_ABI_AT(neuron_ioctl_program_engine_nc, offset, 28);

/* PROGRAM_ENGINE_NC64. */
struct neuron_ioctl_program_engine_nc64 {
  uint32_t nc_id;  /* in */
  uint64_t dst;    /* in: device address */
  void *buffer;    /* in */
  uint64_t size;   /* in */
  uint64_t offset; /* in: added to dst and to buffer */
};
NEURON_ABI_SIZE(neuron_ioctl_program_engine_nc64, 40, 8);
NEURON_ABI_AT(neuron_ioctl_program_engine_nc64, nc_id, 0);
NEURON_ABI_AT(neuron_ioctl_program_engine_nc64, dst, 8);
NEURON_ABI_AT(neuron_ioctl_program_engine_nc64, buffer, 16);
NEURON_ABI_AT(neuron_ioctl_program_engine_nc64, size, 24);
NEURON_ABI_AT(neuron_ioctl_program_engine_nc64, offset, 32);

/* DUMP_MEM_CHUNKS: all chunks of one channel, whoever owns them. */
struct neuron_ioctl_dump_mem_chunks {
  uint32_t hbm_index;                       /* in */
  uint32_t num_entries_in;                  /* in: room in data */
  uint32_t num_entries_out;                 /* out: chunks there are */
  struct neuron_ioctl_mem_chunk_info *data; /* out */
};
NEURON_ABI_SIZE(neuron_ioctl_dump_mem_chunks, 24, 8);
NEURON_ABI_AT(neuron_ioctl_dump_mem_chunks, hbm_index, 0);
NEURON_ABI_AT(neuron_ioctl_dump_mem_chunks, num_entries_in, 4);
NEURON_ABI_AT(neuron_ioctl_dump_mem_chunks, num_entries_out, 8);
NEURON_ABI_AT(neuron_ioctl_dump_mem_chunks, data, 16);

/* One chunk reported by DUMP_MEM_CHUNKS. */
struct neuron_ioctl_mem_chunk_info {
  uint64_t pa;       /* out */
  uint64_t size;     /* out */
  uint32_t mem_type; /* out: NEURON_MEM_* */
};
NEURON_ABI_SIZE(neuron_ioctl_mem_chunk_info, 24, 8);
NEURON_ABI_AT(neuron_ioctl_mem_chunk_info, pa, 0);
NEURON_ABI_AT(neuron_ioctl_mem_chunk_info, size, 8);
NEURON_ABI_AT(neuron_ioctl_mem_chunk_info, mem_type, 16);

/* HBM_SCRUB_START: overwrites a whole channel, live chunks too. */
struct neuron_ioctl_hbm_scrub_start {
  uint32_t nc_id;     /* in */
  uint32_t hbm_index; /* in */
  uint32_t axi_port;  /* in: no meaning on v2 and v3 */
  uint32_t init_val;  /* in: fill pattern */
};
NEURON_ABI_SIZE(neuron_ioctl_hbm_scrub_start, 16, 4);
NEURON_ABI_AT(neuron_ioctl_hbm_scrub_start, nc_id, 0);
NEURON_ABI_AT(neuron_ioctl_hbm_scrub_start, hbm_index, 4);
NEURON_ABI_AT(neuron_ioctl_hbm_scrub_start, axi_port, 8);
NEURON_ABI_AT(neuron_ioctl_hbm_scrub_start, init_val, 12);

/* HBM_SCRUB_WAIT. */
struct neuron_ioctl_hbm_scrub_wait {
  uint32_t nc_id;     /* in */
  uint32_t hbm_index; /* in */
};
NEURON_ABI_SIZE(neuron_ioctl_hbm_scrub_wait, 8, 4);
NEURON_ABI_AT(neuron_ioctl_hbm_scrub_wait, nc_id, 0);
NEURON_ABI_AT(neuron_ioctl_hbm_scrub_wait, hbm_index, 4);

/* DMABUF_FD: exports a driver mapping as a dma-buf. */
struct neuron_ioctl_dmabuf_fd {
  uint64_t va;   /* in */
  uint64_t size; /* in */
  int32_t *fd;   /* out */
};
NEURON_ABI_SIZE(neuron_ioctl_dmabuf_fd, 24, 8);
NEURON_ABI_AT(neuron_ioctl_dmabuf_fd, va, 0);
NEURON_ABI_AT(neuron_ioctl_dmabuf_fd, size, 8);
NEURON_ABI_AT(neuron_ioctl_dmabuf_fd, fd, 16);

/* RESOURCE_MMAP_INFO: mmap cookie of a register range or of a whole HBM. */
struct neuron_ioctl_resource_mmap_info {
  uint32_t block;    /* in: NEURON_MMAP_BLOCK_* */
  uint32_t block_id; /* in */
  uint32_t resource; /* in: NEURON_MMAP_RESOURCE_* */
  uint64_t offset;   /* out: cookie for mmap */
  uint64_t size;     /* out */
};
NEURON_ABI_SIZE(neuron_ioctl_resource_mmap_info, 32, 8);
NEURON_ABI_AT(neuron_ioctl_resource_mmap_info, block, 0);
NEURON_ABI_AT(neuron_ioctl_resource_mmap_info, block_id, 4);
NEURON_ABI_AT(neuron_ioctl_resource_mmap_info, resource, 8);
NEURON_ABI_AT(neuron_ioctl_resource_mmap_info, offset, 16);
NEURON_ABI_AT(neuron_ioctl_resource_mmap_info, size, 24);

#ifdef __cplusplus
}
#endif

#endif
