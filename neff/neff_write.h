// SPDX-License-Identifier: Apache-2.0
// Writing a NEFF container (neff-format.md 6). Byte-reproducible: the same input gives the same
// file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/finding.h"

struct neff_write_options {
  std::string name = "file.neff";  // at most 255 bytes
  uint64_t version_major = 2;
  uint64_t feature_bits = 0;  // outside 27..62
  uint32_t lnc_size = 1;
  uint32_t num_tpb = 1;
  uint64_t pkg_version = 2;        // 1 = SHA-256, 2 = MD5
  bool compress = true;            // one gzip member, else a bare tar
  bool word_reversed_md5 = false;  // as newer compilers store it
  bool pad = false;                // zero padding to a multiple of 10,240
  // All zero: a version-4 shaped UUID derived from the payload's digest, so that equal content has
  // equal identity and different content never shares one.
  uint8_t uuid[16] = {};
};

using neff_write_members = std::map<std::string, std::vector<uint8_t>>;

NRT_STATUS neff_write(const neff_write_members &members, const neff_write_options &options,
                      finding_sink &findings, std::vector<uint8_t> *out);

// Collects the regular files below `directory` as members.
NRT_STATUS neff_collect_directory(const std::string &directory, finding_sink &findings,
                                  neff_write_members *out);
