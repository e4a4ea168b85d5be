// SPDX-License-Identifier: Apache-2.0
// matmul_small.neff with real-valued data, and its result judged.
#pragma once

#include "tests/programs/session.h"
#include "tests/reference/matmul.h"

class small_matmul {
 public:
  explicit small_matmul(const std::vector<uint8_t> &file, int vnc = 0,
                        nrt_tensor_placement_t placement = NRT_TENSOR_PLACEMENT_DEVICE)
      : p(file, vnc, placement) {}

  NRT_STATUS status() const { return p.status(); }
  void fill(uint64_t seed);
  // Spoils the output, runs.
  NRT_STATUS run();
  std::vector<uint16_t> output() { return p.read_as<uint16_t>("output0"); }
  // Outputs beyond the tolerance of verified-matmul.md 1 (half an fp16 unit and a little for the
  // order of an fp32 sum, which tells near zero) for what `fill` wrote; NaN counts.
  uint32_t wrong() { return wrong(output()); }
  uint32_t wrong(const std::vector<uint16_t> &out) const;
  // Fills, runs, judges: nothing wrong.
  testing::AssertionResult right(uint64_t seed);

  program p;

 private:
  std::vector<double> exact_;  // 128 x 128
};
