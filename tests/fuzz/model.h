// SPDX-License-Identifier: Apache-2.0
// Lowering a whole model whose one member is the input, strictly and collecting.
#pragma once

#include "kelf/kelf.h"
#include "tests/fuzz/support.h"

inline void fuzz_lower_model(const fuzz_members &base, const std::string &member,
                             std::span<const uint8_t> input) {
  std::shared_ptr<const neff> source = fuzz_neff(base, member, input);
  finding_sink strict, all(true);
  std::unique_ptr<kelf_nn_t> nn, collected;
  NRT_STATUS status = kelf_load_nn(source, {}, strict, &nn);
  fuzz_check_findings(status, strict);
  FUZZ_CHECK((status == NRT_SUCCESS) == (nn != nullptr), "status {}", static_cast<int>(status));
  NRT_STATUS again = kelf_load_nn(source, {.allow_legacy_neff = true}, all, &collected);
  fuzz_check_findings(again, all);
  // Collecting goes on, but does not judge otherwise.
  FUZZ_CHECK(status != NRT_SUCCESS || again == NRT_SUCCESS, "only collecting refuses: {}: {}",
             all.all()[0].where, all.all()[0].what);
  if (nn == nullptr)
    return;
  FUZZ_CHECK(nn->kbins.size() == 1 || nn->kbins.size() == 2, "{} subgraphs", nn->kbins.size());
  for (const auto *list : {&nn->inputs, &nn->outputs}) {
    for (size_t i = 1; i < list->size(); i++)
      FUZZ_CHECK((*list)[i - 1].name < (*list)[i].name, "{} is not in order", (*list)[i].name);
  }
}
