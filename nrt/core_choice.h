// SPDX-License-Identifier: Apache-2.0
// Which logical cores this process gets: NEURON_RT_VISIBLE_CORES, NEURON_RT_NUM_CORES and the
// logical core size (nrt-api.md 4.4, 4.5).
#pragma once

#include <cstdint>

#include "hal/hal.h"

struct core_choice_t {
  uint32_t lnc;         // physical cores per logical core
  uint32_t total_vncs;  // of the machine
  uint32_t first_vnc;
  uint32_t num_vncs;
  bool anywhere;  // NUM_CORES: any run of num_vncs will do; first_vnc is not decided
  bool claimed;   // core_choice_place claimed them
};

// NRT_INVALID and one ERROR line for a malformed variable.
NRT_STATUS core_choice_lnc_from_env(const hal_arch_t *arch, uint32_t *lnc);
NRT_STATUS core_choice_from_env(const hal_arch_t *arch, uint32_t device_count, core_choice_t *out);

// Comma list of numbers and inclusive ranges; any order, repetitions allowed, but without a gap and
// below `total`. NRT_INVALID and one ERROR line otherwise.
NRT_STATUS core_list_parse(const char *variable, const char *text, uint32_t total, uint32_t *first,
                           uint32_t *count);

// Decides first_vnc of a choice that may go anywhere, and claims the cores at once, so that
// processes starting together do not pick the same ones. NRT_FAILURE: no run is free.
NRT_STATUS core_choice_place(hal_t *hal, core_choice_t *choice);
