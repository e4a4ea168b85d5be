// SPDX-License-Identifier: Apache-2.0
// The core's own state: the machine this process owns, its logical and physical cores.
#pragma once

#include "dmem/accounting.h"
#include "dmem/dmem.h"
#include "tdrv/scratchpad.h"

// One physical core.
struct tpb_t {
  physical_core_t pcore;
  dmem_allocator_t *global_allocator;  // scratchpad pages, tensors
  tdrv_scratchpad_t scratchpad;
};

struct exec_unit_t;  // exec.h

// One logical core of the process: `lnc` physical cores.
struct vcore_t {
  uint32_t vnc;  // index inside the process's visible set
  uint32_t num_tpbs;
  tpb_t *tpbs[TDRV_MAX_LNC];
  exec_unit_t *exec;
};

struct tdrv_options_t {
  uint32_t lnc;                  // logical core size
  uint32_t first_vnc, num_vncs;  // absolute logical core range of the machine, already chosen
  bool want_contiguous_scratchpad = true;
  uint64_t scratchpad_page_size = TDRV_SCRATCHPAD_PAGED_DEFAULT;
  bool io_placement_at_load = true;  // false: NEURON_RT_IO_PLACEMENT=bind
  // The caller has claimed exactly these cores already; the claim passes to tdrv.
  bool cores_claimed = false;
  bool reset_cores = true;         // false: NEURON_RT_RESET_CORES=0
  bool map_hbm = false;            // whole HBMs may be mapped for the CPU (NEURON_RT_MAP_HBM)
  bool p2p = true;                 // memory may be exported as dma-buf (NEURON_RT_ENABLE_P2P)
  uint64_t exec_timeout = 30;      // seconds a run may be without progress; 0: no limit
  bool wait_full_timeout = false;  // a proven deadlock waits, too (NEURON_MOCK_WAIT_FULL_TIMEOUT)
  bool hw_exec = false;            // run on real devices (NEURON_RT_EXPERIMENTAL_HW_EXEC)
};

// Reads NEURON_RT_CONTIGUOUS_SCRATCHPAD, NEURON_SCRATCHPAD_PAGE_SIZE (or
// NEURON_RT_ONE_TMPBUF_PAGE_SIZE_MB), NEURON_RT_IO_PLACEMENT, NEURON_RT_RESET_CORES,
// NEURON_RT_MAP_HBM, NEURON_RT_ENABLE_P2P, NEURON_RT_EXEC_TIMEOUT,
// NEURON_RT_EXPERIMENTAL_HW_EXEC, NEURON_MOCK_WAIT_FULL_TIMEOUT.
NRT_STATUS tdrv_options_from_env(tdrv_options_t *options);

struct tdrv_t;

// Claims the cores, opens the devices, resets the cores, sets up accounting, bounce buffers,
// allocators and (empty) arenas. Everything is undone on failure. NRT_FAILURE: cores taken by
// another process.
NRT_STATUS tdrv_init(hal_t *hal, const tdrv_options_t *options, tdrv_t **out);
// All models must be gone. Releases what is left and the claim.
void tdrv_close(tdrv_t *tdrv);

uint32_t tdrv_vnc_count(const tdrv_t *tdrv);
vcore_t *tdrv_vcore(tdrv_t *tdrv, uint32_t vnc);  // NULL when out of range
const tdrv_options_t *tdrv_options(const tdrv_t *tdrv);
hal_t *tdrv_hal(const tdrv_t *tdrv);
