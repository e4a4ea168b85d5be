// SPDX-License-Identifier: Apache-2.0
// The whole stack below the C API on a mocked machine, and views on what a load left there.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "dmem/accounting.h"
#include "hal/hal.h"
#include "kmgr/kmgr.h"
#include "mock_dev/mock_dev.h"
#include "tdrv/dma_ring.h"
#include "tests/integration/sample.h"
#include "tests/kmgr/log_capture.h"

struct stack_options_t {
  const char *instance = "trn2.3xlarge";
  uint32_t lnc = 2;
  uint32_t num_vncs = 0;  // 0: all of the machine
  uint64_t page_size = TDRV_SCRATCHPAD_PAGED_DEFAULT;
  bool contiguous = true;
  bool io_at_load = true;
  uint64_t exec_timeout = 30;
  bool wait_full_timeout = false;
  bool hw_exec = false;
  bool kernel_back_end = false;  // the kernel back end, its system calls answered by the mock
  uint64_t hbm_size = 0;
  bool validate_hash = false;
  bool allow_legacy = false;
};

// One driver chunk: device position, HBM, address, size, category.
struct chunk_t {
  uint32_t device, hbm;
  uint64_t pa, size;
  uint32_t category;
  auto operator<=>(const chunk_t &) const = default;
};

// Addresses and sizes of the variables of a model that have device memory, as
// "<subgraph>/<name>" -> {address, size}.
struct placed_t {
  uint64_t address, size;
  kbin_mr_type_t kind;
  bool operator==(const placed_t &) const = default;
};
using plan_t = std::map<std::string, placed_t>;

class stack {
 public:
  explicit stack(const stack_options_t &options = {});
  ~stack();
  stack(const stack &) = delete;
  stack &operator=(const stack &) = delete;

  bool ok() const { return kmgr != nullptr; }
  NRT_STATUS load(const std::vector<uint8_t> &file, int32_t vnc, H_NN *out) {
    return kmgr_load(kmgr, file.data(), file.size(), vnc, out);
  }
  NRT_STATUS unload(H_NN h_nn) { return kmgr_unload(kmgr, h_nn); }

  // The driver's chunk lists of all devices, and the runtime's own counters of all devices.
  std::vector<chunk_t> chunks();
  std::vector<dmem_usage_table_t> counters();

  // Every variable that resolves to an address of its own (not pointers and tables).
  plan_t plan(H_NN h_nn);
  mem_ref_t *var(H_NN h_nn, uint32_t subgraph, uint32_t var_id);
  uint64_t address(H_NN h_nn, uint32_t subgraph, uint32_t var_id);
  // Host view of device memory of the first device.
  uint8_t *dram(uint64_t pa, uint64_t size);

  uint64_t ioctls() { return mock_ioctl_count(host, 0); }
  uint64_t allocations();
  void fail_nth(uint32_t request, uint32_t nth, int error);
  void heal();

  stack_options_t options;
  hal_t *hal = nullptr;
  mock_host_t *host = nullptr;
  tdrv_t *tdrv = nullptr;
  kmgr_t *kmgr = nullptr;

 private:
  bool owns_host_ = false;
};

bool operator==(const dmem_usage_table_t &a, const dmem_usage_table_t &b);

// The three files of the corpus; empty when there is none (the test then skips).
std::vector<std::vector<uint8_t>> corpus_files();
#define SKIP_WITHOUT_CORPUS(files)        \
  if ((files).empty()) {                  \
    printf("skipped: no corpus\n");       \
    GTEST_SKIP() << "skipped: no corpus"; \
  }
