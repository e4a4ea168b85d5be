// SPDX-License-Identifier: Apache-2.0
// matmul_large.neff executed with tags in place of values (verified-matmul.md 8): where every byte
// of SBUF, PSUM and scratch comes from, and at the end how every output was summed up. Decodes the
// records itself; nothing of the mocked device is in it. Strict: what the program does not do is an
// error.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kelf/kbin.h"

struct provenance_options {
  uint64_t seed = 0;  // 0: transfers are done at once; else as late as possible, in random order
  // Wrong readings.
  bool ignore_second_wait = false;  // of A0
  bool ignore_dma_wait = false;     // of D4
  bool one_per_transfer = false;    // a finished transfer adds 1
  bool signed_offset = false;       // of a variable
  bool table_index_is_variable = false;
  bool flags_swapped = false;
};

struct provenance_result {
  std::string error;  // "" = the program ran and every output is the sum it must be
  uint64_t first_column = 0, end_column = 0;  // of the output
  uint64_t macs = 0;                          // without transposes
  uint32_t open_groups = 0;                   // most of them at once
  std::map<uint32_t, uint32_t> semaphores;
};
provenance_result provenance_run(const kbin_t &kbin, const provenance_options &options);
