// SPDX-License-Identifier: Apache-2.0
// From tensor sets to a run: names, sizes and cores are checked here (nrt-api.md 5.4).
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "tdrv/exec.h"

struct runtime_t;
struct tensor_object_t;
struct tensor_set_object_t;

// What one call of nrt_execute works with. Kept for the next call on the model, so that after the
// first calls nothing is allocated.
struct execution_t {
  std::vector<exec_io_t> io;  // one per io_slots entry
  std::vector<std::shared_ptr<tensor_object_t>> tensors, copies;
};

// The executions of a model that no call is using.
class execution_pool {
 public:
  std::unique_ptr<execution_t> take(size_t num_io);
  void give_back(std::unique_ptr<execution_t> execution);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<execution_t>> free_;
  size_t made_ = 0;
};

// Runs the model `count` times on the sets. Tensors the model has no name for are not looked at.
// NRT_INVALID: a name is missing, its tensor is empty, too small or on another core;
// NRT_INVALID_HANDLE: a tensor of a set is freed; else as exec_model_run.
NRT_STATUS execute(const char *api, runtime_t &r, exec_model_t *model, execution_pool &pool,
                   tensor_set_object_t &inputs, tensor_set_object_t &outputs, uint32_t count);
