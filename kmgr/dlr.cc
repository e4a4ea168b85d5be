// SPDX-License-Identifier: Apache-2.0
#include "kmgr/dlr.h"

NRT_STATUS dlr_kelf_stage(vcore_t *vcore, const kelf_nn_t *nn, const tdrv_options_t *options,
                          const tdrv_neff_t *neff, vtpb_info_shared_t **out) {
  return vtpb_info_shared_init_vtpb(vcore, nn, options, neff, out);
}

void dlr_kelf_unstage(vtpb_info_shared_t *placement) {
  vtpb_info_shared_free(placement);
}
