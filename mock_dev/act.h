// SPDX-License-Identifier: Apache-2.0
// The activation engine's resident set of tables (verified-facts.md G6, verified-attention.md 7):
// loaded from device memory, evaluated on arrays.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isa/project.h"

struct mock_host;

constexpr uint32_t MOCK_ACT_FUNCTIONS =
    64;  // what the engine's memories hold (neuroncore-isa.md 4.3)
constexpr uint32_t MOCK_ACT_BUCKETS = 2048;

// A control word: bits 10-0 first bucket, 15-11 shift, 19-16 log2 of the bucket count.
struct mock_act_function_t {
  project_profile_t profile;
  uint32_t control[2][256];  // control words by sign and exponent
  uint32_t large_limit[2];   // by sign: from these bits (sign left out) on, large_word
  uint32_t large_word[2];
};

// Numbers only. All zero: no set is resident.
struct mock_act_t {
  uint32_t function_count;
  uint8_t slot[256];  // by function id: its function + 1, 0 = not in the set
  mock_act_function_t functions[MOCK_ACT_FUNCTIONS];
  alignas(32) float buckets[MOCK_ACT_BUCKETS][8];  // d0 to d3, x0, then unused
};

// 0x23: makes set `set` of the directory at a device address (project_table_directory_t) resident.
// nullptr: done. Otherwise why not, static text, and no set is resident. The caller keeps the set's
// users away meanwhile.
const char *mock_act_table_load(mock_host *host, uint32_t device, uint64_t directory, uint32_t set,
                                mock_act_t *act);

// nullptr: not in the resident set.
const mock_act_function_t *mock_act_find(const mock_act_t *act, uint8_t id);

// f(in[i]) from the tables, in fp32, every step rounded by itself; `out` may be `in`. Any thread.
void mock_act_evaluate(const mock_act_t *act, const mock_act_function_t *f, const float *in,
                       size_t n, float *out);

// f(in[i]) in double precision, rounded to fp32; `slope` for the leaky forms. False: no form for
// this id. Any thread.
bool mock_act_exact(uint8_t id, float slope, const float *in, size_t n, float *out);
