// SPDX-License-Identifier: Apache-2.0
// neff.json beside the other members of a good model.
#include "tests/fuzz/model.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const fuzz_members base = fuzz_sample_members(2);
  fuzz_lower_model(base, "neff.json", {data, size});
  return 0;
}
