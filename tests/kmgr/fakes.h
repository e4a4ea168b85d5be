// SPDX-License-Identifier: Apache-2.0
// Stand-ins, at link time, for the layers below kmgr: a machine with as many logical cores as
// wanted and a parser and a placement that can be slowed down or made to fail.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "kmgr/kmgr.h"

struct fake_machine_t {
  uint32_t arch = AL_HAL_TPB_ARCH_TYPE_CAYMAN;
  const char *arch_name = "cayman";
  uint32_t lnc = 2;
  uint32_t num_vncs = 4;
  // Called by kelf_load_nn with the file's payload; not NRT_SUCCESS: becomes a finding.
  std::function<NRT_STATUS(const std::string &payload)> on_parse;
  // Called by vtpb_info_shared_init_vtpb, which logs the failure itself as the real one does.
  std::function<NRT_STATUS(vcore_t *)> on_stage;
  // Called by exec_model_load, likewise.
  std::function<NRT_STATUS(vcore_t *)> on_ready;

  std::atomic<int> placements{0};   // live
  std::atomic<int> executables{0};  // live
  std::mutex mutex;
  std::vector<uint32_t> unstaged;  // logical cores, in the order of vtpb_info_shared_free

  std::string neff_name;  // what the last placement was told
  std::vector<uint32_t> neff_ids;

  void reset();
};
extern fake_machine_t fake;

// A file the fakes accept: the payload's first word is the target, the second the number of
// subgraphs.
std::vector<uint8_t> fake_file(const std::string &payload, uint8_t uuid, uint64_t feature_bits = 0,
                               uint32_t lnc_size = 1);

// The fakes need no tdrv object.
inline tdrv_t *fake_tdrv() {
  return nullptr;
}
