// SPDX-License-Identifier: Apache-2.0
// attn_v6.neff with the inputs of a recipe, and its result against the models.
#pragma once

#include "tests/programs/session.h"
#include "tests/reference/attention.h"

struct attention_figures {
  double step;      // largest difference from the step model / its largest value
  double exact;     // from the formulas in double precision, likewise
  double rms;       // ratio of that difference's and the reference's root mean square
  double textbook;  // largest difference from textbook attention
  uint32_t differ;  // outputs that are not those of the step model
  int units;        // by how many bf16 units at most
};

struct attention_models;  // of the inputs, all three

class attention_run {
 public:
  explicit attention_run(const std::vector<uint8_t> &file) : p(file) {}

  NRT_STATUS status() const { return p.status(); }
  void fill(const attention_inputs &in);
  NRT_STATUS run();
  std::vector<float> output();
  attention_figures figures();
  // Runs and returns the first core's semaphores when the program had ended, before the runtime
  // cleared them.
  std::vector<uint32_t> run_for_semaphores(mock_host_t *host);

  program p;

 private:
  std::shared_ptr<const attention_models> models_;
};
