// SPDX-License-Identifier: Apache-2.0
#include "kmgr/dlr.h"

#include "base/nlog.h"

NRT_STATUS dlr_kelf_stage(vcore_t *vcore, const kelf_nn_t *nn, const tdrv_options_t *options,
                          vtpb_info_shared_t **out) {
  *out = nullptr;
  size_t needed = nn->kbins.size();
  if (needed > vcore->num_tpbs) {
    NLOG_ERROR(NLOG_NMGR,
               "{}: the NEFF has {} subgraphs, one per physical core; logical core {} has {} cores",
               nn->kelf_member, needed, vcore->vnc, vcore->num_tpbs);
    return NRT_LOAD_NOT_ENOUGH_NC;
  }
  if (needed != 1 && needed != vcore->num_tpbs) {
    NLOG_ERROR(NLOG_NMGR, "{}: the NEFF has {} subgraphs; logical core {} takes 1 or {}",
               nn->kelf_member, needed, vcore->vnc, vcore->num_tpbs);
    return NRT_INVALID;
  }
  return vtpb_info_shared_init_vtpb(vcore, nn, options, out);
}

void dlr_kelf_unstage(vtpb_info_shared_t *placement) {
  vtpb_info_shared_free(placement);
}
