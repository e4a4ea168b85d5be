// SPDX-License-Identifier: Apache-2.0
// The low-level digest functions are deprecated in OpenSSL 3 in favour of fetched providers. They
// are used here on purpose: they keep the provider machinery, its configuration files and its
// global state out of a library that is loaded into other people's processes.
#define OPENSSL_API_COMPAT 0x10100000L
#define OPENSSL_SUPPRESS_DEPRECATED
#include "neff/neff_digest.h"

#include <openssl/md5.h>
#include <openssl/sha.h>

#include <algorithm>
#include <cstring>

#include "neff/neff.h"

std::array<uint8_t, 16> neff_md5(std::span<const uint8_t> bytes) {
  std::array<uint8_t, 16> out;
  MD5_CTX context;
  MD5_Init(&context);
  MD5_Update(&context, bytes.data(), bytes.size());
  MD5_Final(out.data(), &context);
  return out;
}

std::array<uint8_t, 32> neff_sha256(std::span<const uint8_t> bytes) {
  std::array<uint8_t, 32> out;
  SHA256_CTX context;
  SHA256_Init(&context);
  SHA256_Update(&context, bytes.data(), bytes.size());
  SHA256_Final(out.data(), &context);
  return out;
}

std::array<uint8_t, 16> neff_md5_word_reversed(const std::array<uint8_t, 16> &md5) {
  std::array<uint8_t, 16> out;
  for (size_t i = 0; i < out.size(); i++)
    out[i] = md5[(i & ~size_t{3}) + (3 - (i & 3))];
  return out;
}

neff_digest_form neff_digest_check(const neff_header_t &header, std::span<const uint8_t> payload) {
  bool empty = std::all_of(std::begin(header.hash), std::end(header.hash),
                           [](uint8_t byte) { return byte == 0; });
  if (empty)
    return neff_digest_form::none;
  if (header.pkg_version == 1) {
    auto digest = neff_sha256(payload);
    return memcmp(digest.data(), header.hash, digest.size()) == 0 ? neff_digest_form::sha256
                                                                  : neff_digest_form::mismatch;
  }
  if (header.pkg_version != 2)
    return neff_digest_form::none;
  // Producers disagree about bytes 16..31 (zeros, or the digit zero): they carry nothing.
  auto digest = neff_md5(payload);
  if (memcmp(digest.data(), header.hash, digest.size()) == 0)
    return neff_digest_form::md5_plain;
  digest = neff_md5_word_reversed(digest);
  if (memcmp(digest.data(), header.hash, digest.size()) == 0)
    return neff_digest_form::md5_word_reversed;
  return neff_digest_form::mismatch;
}

const char *neff_digest_form_name(neff_digest_form form) {
  switch (form) {
    case neff_digest_form::none:
      return "none";
    case neff_digest_form::md5_plain:
      return "md5";
    case neff_digest_form::md5_word_reversed:
      return "md5-word-reversed";
    case neff_digest_form::sha256:
      return "sha256";
    case neff_digest_form::mismatch:
      return "mismatch";
  }
  return "?";
}
