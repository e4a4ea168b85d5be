// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "tests/neff/neff_test.h"

using testing::HasSubstr;

namespace {

bytes_t plain_file() {
  return with_header(bytes_t(2048));
}

NRT_STATUS check(const bytes_t &file, finding_sink &findings) {
  neff_header_t header{};
  return neff_header_check(file, findings, &header);
}

NRT_STATUS check(const bytes_t &file) {
  finding_sink findings;
  NRT_STATUS status = check(file, findings);
  EXPECT_EQ(findings.all().size(), status == NRT_SUCCESS ? 0u : 1u);
  if (!findings.empty()) {
    EXPECT_EQ(findings.status(), status);
  }
  return status;
}

}  // namespace

TEST(Header, FieldsComeFromTheirOffsets) {
  bytes_t file = plain_file();
  for (size_t i = 28 + 4; i < 1024; i++)  // everything behind the gated fields
    file[i] = static_cast<uint8_t>(i * 7 + i / 256);
  put_u64(file, 544, 0x123);
  neff_header_t header{};
  finding_sink findings;
  ASSERT_EQ(neff_header_check(file, findings, &header), NRT_SUCCESS);
  EXPECT_EQ(header.pkg_version, 2u);
  EXPECT_EQ(header.header_size, 1024u);
  EXPECT_EQ(header.data_size, 2048u);
  EXPECT_EQ(header.neff_version_major, 2u);
  auto at = [&](size_t offset) { return file.data() + offset; };
  EXPECT_EQ(memcmp(&header.neff_version_minor, at(0x20), 8), 0);
  EXPECT_EQ(memcmp(header.neff_build_version, at(0x28), 128), 0);
  EXPECT_EQ(memcmp(&header.num_tpb, at(0xA8), 4), 0);
  EXPECT_EQ(memcmp(header.hash, at(0xAC), 32), 0);
  EXPECT_EQ(memcmp(header.uuid, at(0xCC), 16), 0);
  EXPECT_EQ(memcmp(header.name, at(0xDC), 256), 0);
  EXPECT_EQ(memcmp(&header.requested_tpb_count, at(0x1DC), 4), 0);
  EXPECT_EQ(memcmp(header.tpb_per_node, at(0x1E0), 64), 0);
  EXPECT_EQ(header.feature_bits, 0x123u);
  EXPECT_EQ(memcmp(&header.lnc_size, at(0x228), 4), 0);
  EXPECT_EQ(memcmp(header.pad, at(0x22C), 468), 0);
}

TEST(Header, SizeOfTheFile) {
  neff_header_t header{};
  finding_sink findings;
  EXPECT_EQ(neff_header_check({}, findings, &header), NRT_INVALID);
  bytes_t file = plain_file();
  for (size_t size : {size_t{1}, size_t{1023}})
    EXPECT_EQ(check(bytes_t(file.begin(), file.begin() + static_cast<long>(size))), NRT_INVALID)
        << size;
  // A header alone: header_size is not below the file size.
  EXPECT_EQ(check(bytes_t(file.begin(), file.begin() + 1024)), NRT_INVALID);
}

TEST(Header, HeaderSizeIsOnlyBoundedByTheFile) {
  bytes_t file = plain_file();  // 3072 bytes
  for (uint64_t good : {0ull, 8ull, 1024ull, 3071ull}) {
    put_u64(file, 8, good);
    EXPECT_EQ(check(file), NRT_SUCCESS) << good;
  }
  for (uint64_t bad : {3072ull, 3073ull, ~0ull}) {
    put_u64(file, 8, bad);
    EXPECT_EQ(check(file), NRT_INVALID) << bad;
  }
}

TEST(Header, ContainerVersion) {
  bytes_t file = plain_file();
  for (uint64_t major : {0ull, 1ull, 2ull}) {
    put_u64(file, 24, major);
    put_u64(file, 32, 999);  // minor is never checked
    EXPECT_EQ(check(file), NRT_SUCCESS) << major;
  }
  for (uint64_t major : {3ull, 1ull << 32, ~0ull}) {
    put_u64(file, 24, major);
    EXPECT_EQ(check(file), NRT_UNSUPPORTED_NEFF_VERSION) << major;
  }
}

TEST(Header, EveryFeatureBit) {
  for (unsigned bit = 0; bit < 64; bit++) {
    bytes_t file = plain_file();
    put_u64(file, 544, 1ull << bit);
    bool refused = bit >= 27 && bit <= 62;
    EXPECT_EQ(check(file), refused ? NRT_UNSUPPORTED_NEFF_VERSION : NRT_SUCCESS) << bit;
    for (uint64_t major : {0ull, 1ull}) {
      put_u64(file, 24, major);
      EXPECT_EQ(check(file), NRT_SUCCESS) << bit;  // older containers know no mask
    }
  }
}

TEST(Header, DataSizeMayLeaveTrailingBytesButNotExceed) {
  bytes_t file = plain_file();
  for (uint64_t good : {0ull, 1ull, 2047ull, 2048ull}) {
    put_u64(file, 16, good);
    EXPECT_EQ(check(file), NRT_SUCCESS) << good;
  }
  for (uint64_t bad : {2049ull, 1ull << 40, ~0ull, ~0ull - 1023}) {
    put_u64(file, 16, bad);
    EXPECT_EQ(check(file), NRT_INVALID) << bad;
  }
}

TEST(Header, PackagingVersion) {
  bytes_t file = plain_file();
  for (uint64_t value : {0ull, 3ull, 4ull, 1ull << 32, ~0ull}) {
    put_u64(file, 0, value);
    EXPECT_EQ(check(file), NRT_UNSUPPORTED_NEFF_VERSION) << value;
  }
  put_u64(file, 0, 1);
  EXPECT_EQ(check(file), NRT_SUCCESS);
}

// Each pair of neighbours in the documented order, both wrong: the earlier one decides.
TEST(Header, OrderOfChecks) {
  bytes_t file = plain_file();
  put_u64(file, 0, 7);       // packaging: 10
  put_u64(file, 16, ~0ull);  // data_size: 2
  EXPECT_EQ(check(file), NRT_INVALID);
  put_u64(file, 544, 1ull << 30);  // features: 10
  EXPECT_EQ(check(file), NRT_UNSUPPORTED_NEFF_VERSION);
  put_u64(file, 24, 3);  // major: 10
  EXPECT_EQ(check(file), NRT_UNSUPPORTED_NEFF_VERSION);
  put_u64(file, 8, ~0ull);  // header_size: 2
  EXPECT_EQ(check(file), NRT_INVALID);

  finding_sink all(true);
  EXPECT_EQ(check(file, all), NRT_INVALID);
  std::vector<std::pair<NRT_STATUS, std::string>> seen;
  for (const finding &f : all.all())
    seen.emplace_back(f.status, f.where);
  // With major 3 the mask has no known meaning, so four remain.
  std::vector<std::pair<NRT_STATUS, std::string>> expected = {
      {NRT_INVALID, "header+0x8"},
      {NRT_UNSUPPORTED_NEFF_VERSION, "header+0x18"},
      {NRT_INVALID, "header+0x10"},
      {NRT_UNSUPPORTED_NEFF_VERSION, "header+0x0"}};
  EXPECT_EQ(seen, expected);
}

// No single byte of a header may crash the reader or give any other status.
TEST(Header, EveryByteMutated) {
  bytes_t file = plain_file();
  for (size_t offset = 0; offset < 1024; offset++)
    for (uint8_t flip : {0x01, 0x80, 0xFF}) {
      bytes_t mutated = file;
      mutated[offset] ^= flip;
      NRT_STATUS status = check(mutated);
      bool gated = offset < 32 || (offset >= 544 && offset < 552);
      if (!gated) {
        EXPECT_EQ(status, NRT_SUCCESS) << offset;
      }
      if (offset < 8 || (offset > 24 && offset < 32)) {
        EXPECT_EQ(status, NRT_UNSUPPORTED_NEFF_VERSION) << offset;
      }
      if (offset > 17 && offset < 24) {
        EXPECT_EQ(status, NRT_INVALID) << offset;
      }
    }
}

TEST(Digest, AllForms) {
  bytes_t payload = text_bytes("the quick brown fox");
  neff_header_t header{};
  header.pkg_version = 2;
  EXPECT_EQ(neff_digest_check(header, payload), neff_digest_form::none);
  bytes_t md5 = evp_digest(EVP_md5(), payload);
  memcpy(header.hash, md5.data(), 16);
  EXPECT_EQ(neff_digest_check(header, payload), neff_digest_form::md5_plain);
  memset(header.hash + 16, '0', 16);  // seen in the field; carries nothing
  EXPECT_EQ(neff_digest_check(header, payload), neff_digest_form::md5_plain);
  for (size_t word = 0; word < 16; word += 4)
    for (size_t i = 0; i < 4; i++)
      header.hash[word + i] = md5[word + 3 - i];
  EXPECT_EQ(neff_digest_check(header, payload), neff_digest_form::md5_word_reversed);
  header.hash[15] ^= 1;
  EXPECT_EQ(neff_digest_check(header, payload), neff_digest_form::mismatch);

  header.pkg_version = 1;
  bytes_t sha = evp_digest(EVP_sha256(), payload);
  memcpy(header.hash, sha.data(), 32);
  EXPECT_EQ(neff_digest_check(header, payload), neff_digest_form::sha256);
  header.hash[31] ^= 1;  // all 32 bytes count here
  EXPECT_EQ(neff_digest_check(header, payload), neff_digest_form::mismatch);
}

// The example of the format sheet: payload digest and what the header holds for it.
TEST(Digest, SheetExampleOrder) {
  auto hex = [](const char *text) {
    bytes_t out;
    for (size_t i = 0; text[i] != '\0'; i += 2)
      out.push_back(static_cast<uint8_t>(std::stoul(std::string(text + i, 2), nullptr, 16)));
    return out;
  };
  bytes_t plain = hex("efe9b3bc98163077b94c8bcdacf51f47");
  bytes_t stored = hex("bcb3e9ef77301698cd8b4cb9471ff5ac");
  REQUIRE_CORPUS(path, "matmul_small.neff");
  bytes_t file = slurp(path);
  std::span<const uint8_t> payload = std::span(file).subspan(1024);
  EXPECT_EQ(evp_digest(EVP_md5(), payload), plain);
  neff_header_t header{};
  finding_sink findings;
  ASSERT_EQ(neff_header_check(file, findings, &header), NRT_SUCCESS);
  EXPECT_EQ(bytes_t(header.hash, header.hash + 16), stored);
  EXPECT_EQ(neff_digest_check(header, payload), neff_digest_form::md5_word_reversed);
}

TEST(OptionsFromEnv, ReadsEveryVariableAndRefusesNonsense) {
  neff_open_options options;
  ASSERT_EQ(neff_open_options_from_env(&options), NRT_SUCCESS);
  EXPECT_FALSE(options.validate_hash);
  EXPECT_EQ(options.limits.max_members, 65536u);
  struct {
    const char *name;
    uint64_t neff_limits::*field;
  } limits[] = {{"OPENNRT_NEFF_MAX_MEMBERS", &neff_limits::max_members},
                {"OPENNRT_NEFF_MAX_MEMBER_BYTES", &neff_limits::max_member_bytes},
                {"OPENNRT_NEFF_MAX_TOTAL_BYTES", &neff_limits::max_total_bytes},
                {"OPENNRT_NEFF_MAX_RATIO", &neff_limits::max_ratio}};
  for (auto &limit : limits) {
    setenv(limit.name, "77", 1);
    ASSERT_EQ(neff_open_options_from_env(&options), NRT_SUCCESS);
    EXPECT_EQ(options.limits.*limit.field, 77u);
    for (const char *bad : {"0", "-1", "lots", "7x", "99999999999999999999"}) {
      setenv(limit.name, bad, 1);
      EXPECT_EQ(neff_open_options_from_env(&options), NRT_INVALID) << limit.name << "=" << bad;
    }
    unsetenv(limit.name);
  }
  setenv("NEURON_RT_VALIDATE_HASH", "1", 1);
  ASSERT_EQ(neff_open_options_from_env(&options), NRT_SUCCESS);
  EXPECT_TRUE(options.validate_hash);
  setenv("NEURON_RT_VALIDATE_HASH", "maybe", 1);
  EXPECT_EQ(neff_open_options_from_env(&options), NRT_INVALID);
  unsetenv("NEURON_RT_VALIDATE_HASH");
}

TEST(Header, UuidText) {
  uint8_t uuid[16];
  for (unsigned i = 0; i < 16; i++)
    uuid[i] = static_cast<uint8_t>(i * 17);
  EXPECT_EQ(neff_uuid_text(uuid), "00112233445566778899aabbccddeeff");
}
