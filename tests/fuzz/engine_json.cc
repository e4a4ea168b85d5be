// SPDX-License-Identifier: Apache-2.0
// An engine's JSON through its whole lowering: streams, transfers, activation and DVE tables. The
// first byte chooses the engine, '0' to '4'.
#include "tests/fuzz/model.h"

namespace {

// A definition that names one engine only, with everything transfers can refer to.
fuzz_members base_for(const char *key, const char *file) {
  fuzz_members members = fuzz_sample_members(1);
  std::vector<uint8_t> &def = members["sg00/def.json"];
  std::string text(def.begin(), def.end());
  const std::string engines =
      R"("pe": "PE.json", "act": "Activation.json", "pool": "Pool.json", "dve": "DVE.json", "sp": "SP.json")";
  size_t at = text.find(engines);
  FUZZ_CHECK(at != std::string::npos, "the sample's definition has changed");
  text.replace(at, engines.size(), fmt::format(R"("{}": "{}")", key, file));
  def.assign(text.begin(), text.end());
  return members;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const struct {
    fuzz_members base;
    std::string member;
  } engines[] = {{base_for("pe", "PE.json"), "sg00/PE.json"},
                 {base_for("act", "Activation.json"), "sg00/Activation.json"},
                 {base_for("pool", "Pool.json"), "sg00/Pool.json"},
                 {base_for("dve", "DVE.json"), "sg00/DVE.json"},
                 {base_for("sp", "SP.json"), "sg00/SP.json"}};
  if (size == 0)
    return 0;
  const auto &engine = engines[static_cast<uint8_t>(data[0] - '0') % 5];
  fuzz_lower_model(engine.base, engine.member, {data + 1, size - 1});
  return 0;
}
