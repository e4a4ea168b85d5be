// SPDX-License-Identifier: Apache-2.0
// What attn_v6.neff computes, from the formulas of verified-attention.md 4: inputs of its recipes
// and three models of the result.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

constexpr uint32_t kAttentionOutputs = 1024;

// bf16 bits, named by their meaning.
struct attention_inputs {
  std::vector<uint16_t> hidden;                    // 2048
  std::vector<uint16_t> wq, wk, wv;                // 1024, 512, 512 rows of 2048
  std::vector<uint16_t> k, v;                      // 4 heads, 640 positions, 128
  std::vector<uint16_t> q_norm, k_norm, cos, sin;  // 128 each
  bool operator==(const attention_inputs &) const = default;
};

attention_inputs attention_recipe_a();
attention_inputs attention_recipe_b(uint32_t seed);

// Bytes of the program's tensor "input0" ... "input10": its arguments in reverse order.
std::vector<uint8_t> attention_tensor(const attention_inputs &in, const std::string &name);

// In fp32, rounded to bf16 where the program does.
std::vector<float> attention_step(const attention_inputs &in);
// The same formulas in double precision, rounded nowhere.
std::vector<double> attention_exact(const attention_inputs &in);
// The usual formula, blocks not transposed, rounded to bf16 at the end (rulings.md 26).
std::vector<float> attention_textbook(const attention_inputs &in);
