// SPDX-License-Identifier: Apache-2.0
// A small NEFF with every kind of variable: input for demonstrations and tests.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "neff/neff_write.h"

struct neff_sample_options {
  uint32_t cores = 2;             // subgraphs: 1 or 2
  std::string target = "cayman";  // sunda, cayman, mariana, "*"; two cores need cayman or "*"
  std::string name = "sample.neff";
  bool program = false;  // with the program of tools/sample_program.h, else its streams are idle
  // Tests plant defects here: the members as they would be written, and the header's options.
  std::function<void(neff_write_members &)> edit_members;
  std::function<void(neff_write_options &)> edit_options;
};

// NRT_INVALID: options that make no sense. The bytes are the same for the same options.
NRT_STATUS neff_sample_build(const neff_sample_options &options, finding_sink &findings,
                             std::vector<uint8_t> *out);

// Inputs for the program of such a file and the output they give, as .npy files by tensor name.
NRT_STATUS neff_sample_data(uint32_t cores, finding_sink &findings,
                            std::map<std::string, std::vector<uint8_t>> *out);

// Replaces `from`, which must occur exactly once, in a member's text. False: it does not.
bool neff_sample_replace(neff_write_members &members, const std::string &member,
                         const std::string &from, const std::string &to);
