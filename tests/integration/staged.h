// SPDX-License-Identifier: Apache-2.0
// Programs staged on a loaded model, and what lies in the mock's memory then.
#pragma once

#include <cstring>

#include "isa/isa.h"
#include "isa/project.h"
#include "tdrv/program.h"
#include "tests/integration/stack.h"

// A model of the corpus or of a sample, loaded, with one program per subgraph.
class staged {
 public:
  static constexpr uint64_t kDone = 0x1234567000;  // engine e's resident loop: + 64 * e

  staged(stack &s, const std::vector<uint8_t> &file, int32_t vnc = 0) : stack_(s) {
    if (s.load(file, vnc, &h_) != NRT_SUCCESS)
      return;
    model = kmgr_model_get(s.kmgr, h_);
    program_core_t core;
    for (uint32_t e = 0; e < ISA_ENGINE_COUNT; ++e)
      core.done[e] = kDone + 64 * e;
    status = NRT_SUCCESS;
    for (uint32_t sg = 0; status == NRT_SUCCESS && sg < model->placement->num_kbins; ++sg)
      status = program_stage(model->placement, sg, &core, &programs[sg]);
  }
  ~staged() {
    for (program_t *program : programs)
      program_free(program);
    if (model == nullptr)
      return;
    kmgr_model_put(stack_.kmgr, model);
    EXPECT_EQ(stack_.unload(h_), NRT_SUCCESS);
  }
  staged(const staged &) = delete;
  staged &operator=(const staged &) = delete;

  const kbin_engine_t &stream(uint32_t sg, isa_engine_t engine) const {
    return model->nn->kbins[sg]->engines[engine];
  }
  uint64_t address(uint32_t sg, uint32_t var) { return stack_.address(h_, sg, var); }

  // Records of an image as they lie in device memory.
  template <typename record_t = isa_record>
  std::vector<record_t> image(uint32_t sg, isa_engine_t engine) {
    const program_image_t *image = program_image(programs[sg], engine);
    std::vector<record_t> records(image->slots);
    const uint8_t *bytes = stack_.dram(image->pa, image->slots * 64);
    EXPECT_NE(bytes, nullptr);
    if (bytes != nullptr)
      memcpy(records.data(), bytes, image->slots * 64);
    return records;
  }
  // Those of the program only.
  template <typename record_t = isa_record>
  std::vector<record_t> main(uint32_t sg, isa_engine_t engine) {
    const program_image_t *image = program_image(programs[sg], engine);
    std::vector<record_t> records = this->image<record_t>(sg, engine);
    return {records.begin() + image->main_first,
            records.begin() + image->main_first + image->main_slots};
  }

  kmgr_model_t *model = nullptr;
  program_t *programs[TDRV_MAX_LNC] = {};
  NRT_STATUS status = NRT_FAILURE;

 private:
  stack &stack_;
  H_NN h_ = 0;
};
