// SPDX-License-Identifier: Apache-2.0
// Both readers of NumPy files. What the strict one accepts is written again and must read the same,
// and the loader must find the same payload.
#include "tools/npy.h"

#include <cstring>

#include "kelf/mla_resources.h"
#include "tests/fuzz/support.h"

namespace {

void round_trip(const npy_array &array) {
  finding_sink findings;
  std::vector<uint8_t> file;
  npy_array again;
  NRT_STATUS status = npy_write(array, "out.npy", findings, &file);
  if (status == NRT_SUCCESS)
    status = npy_read(file, "out.npy", findings, &again);
  FUZZ_CHECK(status == NRT_SUCCESS, "{}: {}", findings.all()[0].where, findings.all()[0].what);
  FUZZ_CHECK(again.kind == array.kind && again.item_size == array.item_size &&
                 again.shape == array.shape && again.data.size() == array.data.size(),
             "type or shape differs");
  FUZZ_CHECK(
      array.data.empty() || memcmp(again.data.data(), array.data.data(), array.data.size()) == 0,
      "data differs");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // A block of its own, so that reads past its end are seen.
  std::unique_ptr<uint8_t[]> block(new uint8_t[size]);
  if (size != 0)
    memcpy(block.get(), data, size);
  std::span<const uint8_t> file(block.get(), size);
  finding_sink findings, loader;
  npy_array array;
  NRT_STATUS status = npy_read(file, "in.npy", findings, &array);
  fuzz_check_findings(status, findings);
  std::span<const uint8_t> payload;
  NRT_STATUS loaded = npy_payload(file, json_place("in.npy", loader), &payload);
  fuzz_check_findings(loaded, loader);
  if (status != NRT_SUCCESS)
    return 0;
  if (file[6] == 1)
    FUZZ_CHECK(loaded == NRT_SUCCESS && payload.data() == array.data.data() &&
                   payload.size() == array.data.size(),
               "the loader sees another payload");
  round_trip(array);
  return 0;
}
