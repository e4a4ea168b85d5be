// SPDX-License-Identifier: Apache-2.0
// Reading a NEFF container (neff-format.md 1, 2, 7): header, digest, archive. No device, no JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/finding.h"

constexpr size_t NEFF_HEADER_SIZE = 1024;
// Zero bytes that follow every member in memory, so that JSON is parsed in place.
constexpr size_t NEFF_MEMBER_PADDING = 64;
constexpr uint64_t NEFF_FEATURE_VNC = 1u << 10;                     // honour lnc_size
constexpr uint64_t NEFF_UNSUPPORTED_FEATURES = 0x7FFFFFFFF8000000;  // bits 27..62

#pragma pack(push, 1)
struct neff_header_t {
  uint64_t pkg_version;
  uint64_t header_size;
  uint64_t data_size;
  uint64_t neff_version_major;
  uint64_t neff_version_minor;
  uint8_t neff_build_version[128];
  uint32_t num_tpb;
  uint8_t hash[32];
  uint8_t uuid[16];
  char name[256];
  uint32_t requested_tpb_count;
  uint8_t tpb_per_node[64];
  uint64_t feature_bits;
  uint32_t lnc_size;
  uint8_t pad[468];
};
#pragma pack(pop)
static_assert(sizeof(neff_header_t) == NEFF_HEADER_SIZE);
static_assert(offsetof(neff_header_t, num_tpb) == 168 && offsetof(neff_header_t, hash) == 172 &&
              offsetof(neff_header_t, uuid) == 204 && offsetof(neff_header_t, name) == 220 &&
              offsetof(neff_header_t, requested_tpb_count) == 476 &&
              offsetof(neff_header_t, tpb_per_node) == 480 &&
              offsetof(neff_header_t, feature_bits) == 544 &&
              offsetof(neff_header_t, lnc_size) == 552 && offsetof(neff_header_t, pad) == 556);

// Guards against archive bombs. Stated in README and docs; each has a variable.
struct neff_limits {
  uint64_t max_members = 65536;             // OPENNRT_NEFF_MAX_MEMBERS
  uint64_t max_member_bytes = 64ull << 30;  // OPENNRT_NEFF_MAX_MEMBER_BYTES
  uint64_t max_total_bytes = 128ull << 30;  // OPENNRT_NEFF_MAX_TOTAL_BYTES
  uint64_t max_ratio =
      2048;  // OPENNRT_NEFF_MAX_RATIO: inflated bytes per stored byte, above 64 MiB
};

struct neff_open_options {
  neff_limits limits;
  bool validate_hash = false;  // NEURON_RT_VALIDATE_HASH
};

// Reads the variables named above; NRT_INVALID and one ERROR line for a malformed one.
NRT_STATUS neff_open_options_from_env(neff_open_options *out);

// `none`: the hash field is all zero, or pkg_version names no digest.
enum class neff_digest_form { none, md5_plain, md5_word_reversed, sha256, mismatch };
const char *neff_digest_form_name(neff_digest_form form);

// Member name -> bytes. Names are as stored, without one leading "./". Values live as long as the
// neff and are followed by NEFF_MEMBER_PADDING zero bytes.
using neff_member_map = std::map<std::string, std::span<const uint8_t>, std::less<>>;

class neff {
 public:
  neff_header_t header{};
  bool compressed = false;     // payload is a gzip member
  uint64_t archive_bytes = 0;  // sizes of all members, added up
  uint64_t tar_bytes = 0;      // length of the inflated archive, its padding included
  neff_member_map members;
  std::vector<std::string> order;    // names in archive order, duplicates once
  std::vector<std::string> dropped;  // skipped entries: directories, links, wavegraph-bin.json

  // nullptr when there is no such member.
  const std::span<const uint8_t> *find(std::string_view name) const {
    auto it = members.find(name);
    return it == members.end() ? nullptr : &it->second;
  }

 private:
  friend struct neff_archive_reader;
  std::vector<std::unique_ptr<uint8_t[]>> storage_;
};

// Header checks in the order of neff-format.md 1.1, each with its status: NRT_INVALID (2) or
// NRT_UNSUPPORTED_NEFF_VERSION (10). In collect mode all of them are reported. `where` names the
// byte offset ("header+0x10").
NRT_STATUS neff_header_check(std::span<const uint8_t> file, finding_sink &findings,
                             neff_header_t *out);

// Compares the header's hash with the payload's digest.
neff_digest_form neff_digest_check(const neff_header_t &header, std::span<const uint8_t> payload);

// Header, optional digest, archive. `file` is not kept: members are inflated into own storage.
// NRT_RESOURCE: no host memory. In collect mode *out is set beside findings of the header or the
// digest as long as the archive is whole, so that its members can be looked at too.
NRT_STATUS neff_open(std::span<const uint8_t> file, const neff_open_options &options,
                     finding_sink &findings, std::shared_ptr<const neff> *out);

std::string neff_uuid_text(const uint8_t uuid[16]);  // 32 hex digits
