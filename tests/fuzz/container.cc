// SPDX-License-Identifier: Apache-2.0
// Header and archive of a NEFF. What opens is written again and must open to the same members.
#include <cstring>

#include "neff/neff_write.h"
#include "tests/fuzz/support.h"

namespace {

neff_open_options options(bool validate) {
  neff_open_options o;
  o.limits = {256, 1 << 20, 4 << 20, 2048};
  o.validate_hash = validate;
  return o;
}

void check_members(const neff &n) {
  uint64_t total = 0;
  FUZZ_CHECK(n.order.size() == n.members.size(), "{} names, {} members", n.order.size(),
             n.members.size());
  FUZZ_CHECK(n.members.size() <= 256, "{} members", n.members.size());
  for (const auto &[name, bytes] : n.members) {
    FUZZ_CHECK(bytes.size() <= 1 << 20, "{} bytes", bytes.size());
    total += bytes.size();
    for (size_t i = 0; i < NEFF_MEMBER_PADDING; i++)
      FUZZ_CHECK(bytes.data()[bytes.size() + i] == 0, "padding byte {}", i);
  }
  FUZZ_CHECK(total <= 4 << 20 && total <= n.archive_bytes, "{} bytes, {} said", total,
             n.archive_bytes);
}

void round_trip(const neff &n) {
  neff_write_members members;
  for (const auto &[name, bytes] : n.members)
    members[name].assign(bytes.begin(), bytes.end());
  neff_write_options writing;
  writing.compress = n.compressed;
  finding_sink refused;
  std::vector<uint8_t> file;
  NRT_STATUS status = neff_write(members, writing, refused, &file);
  fuzz_check_findings(status, refused);
  if (status != NRT_SUCCESS)
    return;
  finding_sink findings;
  std::shared_ptr<const neff> again;
  neff_open_options o;  // whatever was accepted once is well inside the default limits
  o.validate_hash = true;
  status = neff_open(file, o, findings, &again);
  FUZZ_CHECK(status == NRT_SUCCESS, "{}: {}", findings.all()[0].where, findings.all()[0].what);
  FUZZ_CHECK(again->members.size() == members.size(), "{} members, {} written",
             again->members.size(), members.size());
  for (const auto &[name, bytes] : members) {
    const std::span<const uint8_t> *read = again->find(name);
    FUZZ_CHECK(read != nullptr && read->size() == bytes.size() &&
                   (bytes.empty() || memcmp(read->data(), bytes.data(), bytes.size()) == 0),
               "member {} differs", name);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  finding_sink strict;
  std::shared_ptr<const neff> opened;
  NRT_STATUS status = neff_open({data, size}, options(false), strict, &opened);
  fuzz_check_findings(status, strict);
  FUZZ_CHECK((status == NRT_SUCCESS) == (opened != nullptr), "status {}", static_cast<int>(status));
  if (opened != nullptr) {
    check_members(*opened);
    round_trip(*opened);
  }
  finding_sink all(true);
  std::shared_ptr<const neff> collected;
  fuzz_check_findings(neff_open({data, size}, options(true), all, &collected), all);
  FUZZ_CHECK(opened == nullptr || collected != nullptr, "collecting loses the archive");
  if (collected != nullptr)
    check_members(*collected);
  return 0;
}
