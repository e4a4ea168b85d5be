// SPDX-License-Identifier: Apache-2.0
#include <new>

#include "neff/neff.h"
#include "neff/neff_archive.h"

static NRT_STATUS digest_finding(const neff_header_t &header, std::span<const uint8_t> payload,
                                 finding_sink &findings) {
  std::string where = fmt::format("header+0x{:x}", offsetof(neff_header_t, hash));
  if (payload.empty())
    return findings.add(NRT_INVALID, where, "there is no payload to check the digest against");
  const char *algorithm = header.pkg_version == 1 ? "SHA-256" : "MD5";
  switch (neff_digest_check(header, payload)) {
    case neff_digest_form::mismatch:
      return findings.add(NRT_INVALID, where, "the payload's {} digest differs from the stored one",
                          algorithm);
    case neff_digest_form::none:
      return findings.add(NRT_INVALID, where, "the header holds no {} digest", algorithm);
    default:
      return NRT_SUCCESS;
  }
}

NRT_STATUS neff_open(std::span<const uint8_t> file, const neff_open_options &options,
                     finding_sink &findings, std::shared_ptr<const neff> *out) {
  out->reset();
  auto opened = std::make_shared<neff>();
  NRT_STATUS first = neff_header_check(file, findings, &opened->header);
  if (first != NRT_SUCCESS && (!findings.collect() || file.size() < NEFF_HEADER_SIZE))
    return first;

  // The payload starts behind the fixed header, whatever header_size says. A file that is too short
  // has been reported; what there is of it is still worth a look in collect mode.
  std::span<const uint8_t> payload = file.subspan(NEFF_HEADER_SIZE);
  if (opened->header.data_size < payload.size())
    payload = payload.first(opened->header.data_size);

  bool digest_known = opened->header.pkg_version == 1 || opened->header.pkg_version == 2;
  if (options.validate_hash && digest_known) {
    NRT_STATUS status = digest_finding(opened->header, payload, findings);
    if (first == NRT_SUCCESS)
      first = status;
    if (status != NRT_SUCCESS && !findings.collect())
      return status;
  }

  NRT_STATUS status = neff_archive_reader::read(payload, options.limits, findings, opened.get());
  if (first == NRT_SUCCESS)
    first = status;
  if (status == NRT_SUCCESS)
    *out = std::move(opened);
  return first;
}
