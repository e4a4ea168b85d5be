// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstring>

#include "base/env.h"
#include "neff/neff.h"

static std::string header_at(size_t offset) {
  return fmt::format("header+0x{:x}", offset);
}

NRT_STATUS neff_header_check(std::span<const uint8_t> file, finding_sink &findings,
                             neff_header_t *out) {
  if (file.data() == nullptr)
    return findings.add(NRT_INVALID, "header", "no bytes given");
  if (file.size() < NEFF_HEADER_SIZE)
    return findings.add(NRT_INVALID, "header", "{} bytes given, the header alone takes {}",
                        file.size(), NEFF_HEADER_SIZE);
  memcpy(out, file.data(), NEFF_HEADER_SIZE);
  const neff_header_t header = *out;  // fields of the packed struct cannot be bound to references

  // The order is what a client sees through the status: NRT_INVALID and
  // NRT_UNSUPPORTED_NEFF_VERSION are told apart by the first check that fails.
  NRT_STATUS status = NRT_SUCCESS;
  auto report = [&](NRT_STATUS failure, size_t offset, const std::string &what) {
    findings.add(failure, header_at(offset), "{}", what);
    if (status == NRT_SUCCESS)
      status = failure;
    return !findings.collect();
  };

  uint64_t stored = file.size() - NEFF_HEADER_SIZE;
  if (header.header_size >= file.size() &&
      report(NRT_INVALID, offsetof(neff_header_t, header_size),
             fmt::format("header_size {} is not below the file's {} bytes", +header.header_size,
                         file.size())))
    return status;
  if (header.neff_version_major > 2 &&
      report(NRT_UNSUPPORTED_NEFF_VERSION, offsetof(neff_header_t, neff_version_major),
             fmt::format("container version {}.{}, the newest known major is 2",
                         +header.neff_version_major, +header.neff_version_minor)))
    return status;
  // Older containers had no meaning for the mask.
  if (header.neff_version_major == 2 && (header.feature_bits & NEFF_UNSUPPORTED_FEATURES) != 0 &&
      report(NRT_UNSUPPORTED_NEFF_VERSION, offsetof(neff_header_t, feature_bits),
             fmt::format("feature_bits 0x{:x} asks for unknown features 0x{:x}; bits 0 to 26 are "
                         "supported",
                         +header.feature_bits, header.feature_bits & NEFF_UNSUPPORTED_FEATURES)))
    return status;
  if (stored < header.data_size &&
      report(NRT_INVALID, offsetof(neff_header_t, data_size),
             fmt::format("data_size {}, but only {} bytes follow the header", +header.data_size,
                         stored)))
    return status;
  if (header.pkg_version != 1 && header.pkg_version != 2 &&
      report(NRT_UNSUPPORTED_NEFF_VERSION, offsetof(neff_header_t, pkg_version),
             fmt::format("packaging version {}, known are 1 and 2", +header.pkg_version)))
    return status;
  return status;
}

NRT_STATUS neff_open_options_from_env(neff_open_options *out) {
  neff_open_options options;
  neff_limits &limits = options.limits;
  NRT_STATUS status = env_bool("NEURON_RT_VALIDATE_HASH", false, &options.validate_hash);
  if (status != NRT_SUCCESS)
    return status;

  struct {
    const char *name;
    uint64_t *value;
  } variables[] = {
      {"OPENNRT_NEFF_MAX_MEMBERS", &limits.max_members},
      {"OPENNRT_NEFF_MAX_MEMBER_BYTES", &limits.max_member_bytes},
      {"OPENNRT_NEFF_MAX_TOTAL_BYTES", &limits.max_total_bytes},
      {"OPENNRT_NEFF_MAX_RATIO", &limits.max_ratio},
  };
  for (auto &variable : variables) {
    // The upper bound keeps sums of limits clear of 64 bits.
    status = env_u64(variable.name, *variable.value, 1, 1ull << 62, variable.value);
    if (status != NRT_SUCCESS)
      return status;
  }
  *out = options;
  return NRT_SUCCESS;
}

std::string neff_uuid_text(const uint8_t uuid[16]) {
  std::string text;
  for (size_t i = 0; i < 16; i++)
    fmt::format_to(std::back_inserter(text), "{:02x}", uuid[i]);
  return text;
}
