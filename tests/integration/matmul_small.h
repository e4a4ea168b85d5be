// SPDX-License-Identifier: Apache-2.0
// matmul_small.neff loaded on a logical core, with tensors: out[128, 128] = x[128, 256] @ y[256,
// 128] in fp16.
#pragma once

#include <memory>

#include "tdrv/exec.h"
#include "tdrv/tensor.h"
#include "tests/integration/stack.h"
#include "tests/reference/matmul.h"

class tensor_owner {
 public:
  tensor_owner(tdrv_t *tdrv, tensor_placement_t placement, int vnc, size_t size, const char *name) {
    EXPECT_EQ(tensor_allocate(tdrv, placement, vnc, size, name, &tensor), NRT_SUCCESS);
  }
  ~tensor_owner() { tensor_free(tensor); }
  tensor_owner(const tensor_owner &) = delete;
  tensor_owner &operator=(const tensor_owner &) = delete;
  tensor_t *tensor = nullptr;
};

// A device tensor of zeros for every input and output of a loaded model, bound as a run has them.
class bound_tensors {
 public:
  bound_tensors(tdrv_t *tdrv, const exec_model_t *model);
  ~bound_tensors();
  bound_tensors(const bound_tensors &) = delete;
  bound_tensors &operator=(const bound_tensors &) = delete;
  const exec_io_t *io() const { return io_.data(); }

 private:
  std::vector<std::unique_ptr<tensor_owner>> tensors_;
  std::vector<exec_io_t> io_;
};

class matmul_small {
 public:
  // `vnc` -1: leaves the choice to the runtime.
  matmul_small(stack &s, const std::vector<uint8_t> &file, int32_t vnc = 0,
               tensor_placement_t placement = tensor_placement_t::DEVICE);
  ~matmul_small();
  matmul_small(const matmul_small &) = delete;
  matmul_small &operator=(const matmul_small &) = delete;

  bool ok() const { return model != nullptr; }
  // New tensors in place of the old ones, which stay allocated.
  void renew();
  // Fills x and y. INTEGER data has products that are exact in fp32 in any order.
  void fill(uint64_t seed, matmul_data data = matmul_data::REAL);
  NRT_STATUS run();
  // Elements of the output that differ from the product of what `fill` wrote last: for INTEGER data
  // from its fp16, for REAL data by more than the limits of verified-matmul.md 1. NaN counts.
  uint32_t wrong();
  std::vector<uint8_t> output();
  // The output's memory, all NaN.
  void spoil();
  // Fills, spoils, runs, compares.
  ::testing::AssertionResult right(uint64_t seed, matmul_data data = matmul_data::REAL);
  void unload();

  // Device address of record `slot` of an engine's image.
  uint64_t image(uint32_t subgraph, isa_engine_t engine, uint32_t slot);

  H_NN h = 0;
  kmgr_model_t *model = nullptr;

 private:
  stack &s_;
  tensor_placement_t placement_;
  std::vector<std::unique_ptr<tensor_owner>> old_;
  std::unique_ptr<tensor_owner> tensors_[3];  // x, y, output0
  std::vector<uint16_t> x_, y_;
  matmul_data data_ = matmul_data::REAL;
};
