// SPDX-License-Identifier: Apache-2.0
// Hands a lowered model to the core that is to run it.
#pragma once

#include "kmgr/kmgr.h"

struct dlr_model_t {
  vtpb_info_shared_t *placement;
  exec_model_t *exec;
};

// Places a model on a logical core and makes it ready to run. The placement itself checks that the
// subgraphs fit the cores and writes the one ERROR line on failure: NRT_LOAD_NOT_ENOUGH_NC when
// there are more subgraphs than cores, NRT_INVALID when they are neither one nor as many, or when
// an instruction cannot run. `nn` must outlive the placement.
NRT_STATUS dlr_kelf_stage(vcore_t *vcore, const kelf_nn_t *nn, const tdrv_options_t *options,
                          const tdrv_neff_t *neff, dlr_model_t *out);
void dlr_kelf_unstage(const dlr_model_t *model);
