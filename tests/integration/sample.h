// SPDX-License-Identifier: Apache-2.0
// A small NEFF with every kind of variable, written from scratch for the tests that need to know
// each byte of it and to damage it in one place.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "neff/neff_write.h"

constexpr uint64_t kKiB = 1ull << 10, kMiB = 1ull << 20, kGiB = 1ull << 30;

// Variables of each subgraph, by id.
enum sample_var_t : uint32_t {
  SAMPLE_SB,
  SAMPLE_IN0,       // 32 x 32 float32
  SAMPLE_IN1,       // 16 x 16 float16
  SAMPLE_OUT0,      // 32 x 32 float32
  SAMPLE_W_NPY,     // NumPy member
  SAMPLE_W_RAW,     // raw member, odd size
  SAMPLE_W_STAGED,  // file-staged
  SAMPLE_TMP,
  SAMPLE_V_LOCAL,   // no backing_buf
  SAMPLE_V_MAIN,    // backing_buf main, above v_local
  SAMPLE_V_SHARED,  // backing_buf shared
  SAMPLE_P_W,       // pointer to w_npy
  SAMPLE_P_IN,      // pointer to in0
  SAMPLE_LIST,      // w_npy, tmp
  SAMPLE_TABLE,     // dge-table: in0, in1, out0, w_npy
  SAMPLE_FAR,       // remote: tmp of the next subgraph
  SAMPLE_DBG,       // tmp-buf with print metadata
  SAMPLE_NUM_VARS,
};

constexpr uint64_t kSampleIn0 = 4096, kSampleIn1 = 512, kSampleOut0 = 4096;
constexpr uint64_t kSampleNpy = 8192, kSampleRaw = 3001, kSampleStaged = 300;
constexpr uint64_t kSampleTmp = 70000, kSampleDbg = 128;
constexpr uint64_t kSampleLocal = 1 * kMiB, kSampleMain = 3 * kMiB, kSampleShared = 2 * kMiB;
constexpr uint64_t kSampleSharedOffset = 4096;
// What a subgraph takes to run: an image per engine, the cell with the address of its DGE table,
// and for each of its two static queues two rings on each of 16 DMA engines.
constexpr uint64_t kSampleProgramChunks = 5 + 1 + 2 * 16 * 2;
// What a physical core takes while it has models: five loops of 16 records, and a request.
constexpr uint64_t kResidentBytes = 5 * 16 * 64 + 52;
constexpr uint64_t kSampleWeights = kSampleNpy + kSampleRaw + kSampleStaged;

struct sample_options_t {
  const char *target = "cayman";
  uint32_t subgraphs = 2;  // 2: sets feature bit 10 and an lnc_size of 2
  uint32_t variant = 0;    // changes the weights, so that files differ
};

struct sample_t {
  neff_write_members members;
  neff_write_options options;

  void set(const std::string &member, std::string_view text);
  // Replaces one piece of a member's text; the test fails when it is not there exactly once.
  void replace(const std::string &member, std::string_view from, std::string_view to);
};

sample_t sample_make(const sample_options_t &options = {});
std::vector<uint8_t> sample_bytes(const sample_t &sample);
inline std::vector<uint8_t> sample_file(const sample_options_t &options = {}) {
  return sample_bytes(sample_make(options));
}

// Byte `i` of a weight, by variable and subgraph.
uint8_t sample_weight(uint32_t var, uint32_t subgraph, uint32_t variant, uint64_t i);
