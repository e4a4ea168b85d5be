// SPDX-License-Identifier: Apache-2.0
#include "kmgr/dlr.h"

NRT_STATUS dlr_kelf_stage(vcore_t *vcore, const kelf_nn_t *nn, const tdrv_options_t *options,
                          const tdrv_neff_t *neff, dlr_model_t *out) {
  *out = {};
  NRT_STATUS status = vtpb_info_shared_init_vtpb(vcore, nn, options, neff, &out->placement);
  if (status != NRT_SUCCESS)
    return status;
  status = exec_model_load(out->placement, neff, &out->exec);
  if (status != NRT_SUCCESS) {
    dlr_kelf_unstage(out);
    *out = {};
  }
  return status;
}

void dlr_kelf_unstage(const dlr_model_t *model) {
  exec_model_unload(model->exec);
  vtpb_info_shared_free(model->placement);
}
