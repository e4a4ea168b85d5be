// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/matmul_small.h"

#include <cmath>
#include <cstring>

#include "tdrv/exec_unit.h"
#include "tests/reference/floats.h"

namespace {

constexpr uint32_t kRows = kMatmulSmall.rows, kDepth = kMatmulSmall.depth,
                   kColumns = kMatmulSmall.columns;
constexpr const char *kNames[] = {"x", "y", "output0"};
constexpr size_t kBytes[] = {kRows * kDepth * 2, kDepth *kColumns * 2, kRows *kColumns * 2};

}  // namespace

bound_tensors::bound_tensors(tdrv_t *tdrv, const exec_model_t *model)
    : io_(exec_model_info(model)->num_io_slots) {
  for (uint32_t i = 0; i < io_.size(); ++i) {
    const io_slot_t &slot = exec_model_info(model)->io_slots[i];
    tensors_.push_back(
        std::make_unique<tensor_owner>(tdrv, tensor_placement_t::DEVICE, 0, slot.size, slot.name));
    EXPECT_EQ(tensor_memset(tensors_[i]->tensor, 0, 0, slot.size), NRT_SUCCESS);
    EXPECT_EQ(tensor_access_begin(tensors_[i]->tensor, slot.is_output, &io_[i].access),
              NRT_SUCCESS);
  }
}

bound_tensors::~bound_tensors() {
  for (exec_io_t &each : io_)
    tensor_access_end(&each.access);
}

matmul_small::matmul_small(stack &s, const std::vector<uint8_t> &file, int32_t vnc,
                           tensor_placement_t placement)
    : s_(s), placement_(placement) {
  EXPECT_EQ(s.load(file, vnc, &h), NRT_SUCCESS);
  model = h != 0 ? kmgr_model_get(s.kmgr, h) : nullptr;
  if (model != nullptr)
    renew();
}

matmul_small::~matmul_small() {
  unload();
}

void matmul_small::unload() {
  if (model == nullptr)
    return;
  kmgr_model_put(s_.kmgr, model);
  model = nullptr;
  EXPECT_EQ(s_.unload(h), NRT_SUCCESS);
}

void matmul_small::renew() {
  for (uint32_t i = 0; i < 3; ++i) {
    if (tensors_[i] != nullptr)
      old_.push_back(std::move(tensors_[i]));
    int vnc = placement_ == tensor_placement_t::VIRTUAL ? -1 : static_cast<int>(model->vnc);
    tensors_[i] = std::make_unique<tensor_owner>(s_.tdrv, placement_, vnc, kBytes[i], kNames[i]);
  }
}

void matmul_small::fill(uint64_t seed, matmul_data data) {
  data_ = data;
  x_.resize(kRows * kDepth);
  y_.resize(kDepth * kColumns);
  matmul_fill_x(kMatmulSmall, data, seed, x_.data());
  matmul_fill_y(kMatmulSmall, data, seed, 0, kDepth, y_.data());
  EXPECT_EQ(tensor_write(tensors_[0]->tensor, x_.data(), 0, kBytes[0]), NRT_SUCCESS);
  EXPECT_EQ(tensor_write(tensors_[1]->tensor, y_.data(), 0, kBytes[1]), NRT_SUCCESS);
}

std::vector<uint8_t> matmul_small::output() {
  std::vector<uint8_t> bytes(kBytes[2]);
  EXPECT_EQ(tensor_read(tensors_[2]->tensor, bytes.data(), 0, kBytes[2]), NRT_SUCCESS);
  return bytes;
}

void matmul_small::spoil() {
  EXPECT_EQ(tensor_memset(tensors_[2]->tensor, 0, 0xFF, kBytes[2]), NRT_SUCCESS);
}

NRT_STATUS matmul_small::run() {
  const vtpb_info_shared_t *info = exec_model_info(model->exec);
  exec_io_t io[3] = {};
  EXPECT_EQ(info->num_io_slots, 3u);
  for (uint32_t i = 0; i < info->num_io_slots; ++i) {
    const io_slot_t &slot = info->io_slots[i];
    for (uint32_t t = 0; t < 3; ++t) {
      if (std::string_view(slot.name) == kNames[t]) {
        EXPECT_EQ(tensor_access_begin(tensors_[t]->tensor, slot.is_output, &io[i].access),
                  NRT_SUCCESS);
        io[i].copy = placement_ == tensor_placement_t::DEVICE ? nullptr : slot.mem;
      }
    }
  }
  NRT_STATUS status = exec_model_run(model->exec, io);
  for (exec_io_t &each : io)
    tensor_access_end(&each.access);
  return status;
}

uint32_t matmul_small::wrong() {
  std::vector<uint8_t> bytes = output();
  std::vector<uint16_t> out(kRows * kColumns);
  memcpy(out.data(), bytes.data(), bytes.size());
  std::vector<double> x(x_.size()), y(y_.size()), exact(kColumns);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = fp16_value(x_[i]);
  for (size_t i = 0; i < y.size(); ++i)
    y[i] = fp16_value(y_[i]);
  uint32_t count = 0;
  for (uint32_t row = 0; row < kRows; ++row) {
    std::fill(exact.begin(), exact.end(), 0.0);
    for (uint32_t k = 0; k < kDepth; ++k) {
      double left = x[row * kDepth + k];
      const double *right = &y[k * kColumns];
      for (uint32_t column = 0; column < kColumns; ++column)
        exact[column] += left * right[column];
    }
    double sum = 0, squares = 0;
    for (double value : exact) {
      sum += value;
      squares += value * value;
    }
    double deviation = std::sqrt(squares / kColumns - sum / kColumns * (sum / kColumns));
    for (uint32_t column = 0; column < kColumns; ++column) {
      uint16_t got = out[row * kColumns + column];
      bool right = data_ == matmul_data::REAL ? matmul_close(got, exact[column], deviation)
                                              : fp16_value(got) == fp16_round(exact[column]);
      count += right ? 0 : 1;
    }
  }
  return count;
}

::testing::AssertionResult matmul_small::right(uint64_t seed, matmul_data data) {
  fill(seed, data);
  spoil();
  NRT_STATUS status = run();
  if (status != NRT_SUCCESS)
    return ::testing::AssertionFailure() << "status " << status;
  uint32_t bad = wrong();
  if (bad != 0)
    return ::testing::AssertionFailure() << bad << " wrong elements with seed " << seed;
  return ::testing::AssertionSuccess();
}

uint64_t matmul_small::image(uint32_t subgraph, isa_engine_t engine, uint32_t slot) {
  return program_image(model->exec->programs[subgraph], engine)->pa + uint64_t{64} * slot;
}
