// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <random>

#include "tests/neff/neff_test.h"

using testing::ElementsAre;
using testing::HasSubstr;

namespace {

// A ustar header block built by hand.
bytes_t tar_header(const std::string &name, uint64_t size, char type = '0',
                   const std::string &link = "") {
  bytes_t block(512);
  auto text = [&](size_t offset, const std::string &value) {
    std::copy(value.begin(), value.end(), block.begin() + static_cast<long>(offset));
  };
  auto octal = [](uint64_t value, int digits) {
    char buffer[32];
    snprintf(buffer, sizeof(buffer), "%0*llo", digits, static_cast<unsigned long long>(value));
    return std::string(buffer);
  };
  text(0, name);
  text(100, "0000664");
  text(108, "0001750");
  text(116, "0001750");
  if (size < (1ull << 33)) {
    text(124, octal(size, 11));
  } else {  // base-256
    block[124] = 0x80;
    for (size_t i = 0; i < 8; i++)
      block[135 - i] = static_cast<uint8_t>(size >> (8 * i));
  }
  text(136, "00000000000");
  text(148, "        ");
  block[156] = static_cast<uint8_t>(type);
  text(157, link);
  text(257, std::string("ustar\0", 6) + "00");
  unsigned sum = 0;
  for (uint8_t byte : block)
    sum += byte;
  text(148, octal(sum, 6));
  block[154] = 0;
  return block;
}

bytes_t tar_entry(const std::string &name, const bytes_t &data) {
  bytes_t out = tar_header(name, data.size());
  out.insert(out.end(), data.begin(), data.end());
  out.resize((out.size() + 511) / 512 * 512);
  return out;
}

bytes_t operator+(bytes_t a, const bytes_t &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const bytes_t kEnd(1024);

struct result {
  NRT_STATUS status;
  std::shared_ptr<const neff> opened;
  std::vector<finding> findings;
  std::string text() const {
    return findings.empty() ? "" : findings[0].where + ": " + findings[0].what;
  }
};

result open_payload(const bytes_t &payload, const neff_open_options &options = {},
                    bool collect = false) {
  finding_sink findings(collect);
  result r;
  r.status = neff_open(with_header(payload), options, findings, &r.opened);
  r.findings = findings.all();
  EXPECT_EQ(r.findings.empty(), r.status == NRT_SUCCESS);
  EXPECT_EQ(findings.status(), r.status);
  if (!collect) {
    EXPECT_EQ(r.opened != nullptr, r.status == NRT_SUCCESS);
    EXPECT_LE(r.findings.size(), 1u);
  }
  return r;
}

bytes_t gzip(const bytes_t &data, const std::string &options = "-1") {
  scratch_dir dir;
  spit(dir / "in", data);
  shell("gzip -n " + options + " -c " + (dir / "in") + " > " + (dir / "out"));
  return slurp(dir / "out");
}

bytes_t member(const result &r, const std::string &name) {
  const auto *bytes = r.opened->find(name);
  EXPECT_NE(bytes, nullptr) << name;
  return bytes != nullptr ? bytes_t(bytes->begin(), bytes->end()) : bytes_t();
}

bytes_t noise(size_t size, unsigned seed) {
  std::mt19937 random(seed);
  bytes_t out(size);
  for (auto &byte : out)
    byte = static_cast<uint8_t>(random());
  return out;
}

}  // namespace

TEST(Archive, BareAndGzip) {
  bytes_t tar = tar_entry("neff.json", text_bytes("{}")) + tar_entry("sg00/PE.bin", noise(700, 1)) +
                tar_entry("empty", {}) + kEnd;
  for (bool compressed : {false, true}) {
    result r = open_payload(compressed ? gzip(tar) : tar);
    ASSERT_EQ(r.status, NRT_SUCCESS) << r.text();
    EXPECT_EQ(r.opened->compressed, compressed);
    EXPECT_THAT(r.opened->order, ElementsAre("neff.json", "sg00/PE.bin", "empty"));
    EXPECT_EQ(member(r, "neff.json"), text_bytes("{}"));
    EXPECT_EQ(member(r, "sg00/PE.bin"), noise(700, 1));
    EXPECT_EQ(member(r, "empty"), bytes_t());
    EXPECT_EQ(r.opened->archive_bytes, 702u);
    EXPECT_EQ(r.opened->tar_bytes, tar.size());
  }
}

TEST(Archive, SkipsWhatIsNoFile) {
  bytes_t tar = tar_header("sg00/", 0, '5') + tar_header("soft", 0, '2', "a") +
                tar_header("hard", 0, '1', "a") + tar_header("fifo", 0, '6') +
                tar_header("null", 0, '3') + tar_entry("a", text_bytes("A")) +
                tar_entry("sg00/wavegraph-bin.json", text_bytes("dropped")) +
                tar_entry("b", text_bytes("B")) + kEnd;
  result r = open_payload(tar);
  ASSERT_EQ(r.status, NRT_SUCCESS) << r.text();
  EXPECT_THAT(r.opened->order, ElementsAre("a", "b"));
  EXPECT_THAT(r.opened->dropped,
              ElementsAre("sg00/", "soft", "hard", "fifo", "null", "sg00/wavegraph-bin.json"));
}

TEST(Archive, StripsOneDotSlashAndKeepsEveryOtherName) {
  bytes_t tar = tar_entry("./a", text_bytes("1")) + tar_entry("././b", text_bytes("2")) +
                tar_entry("../c", text_bytes("3")) + tar_entry("/d", text_bytes("4")) +
                tar_entry("e/./f", text_bytes("5")) + kEnd;
  result r = open_payload(tar);
  ASSERT_EQ(r.status, NRT_SUCCESS) << r.text();
  EXPECT_THAT(r.opened->order, ElementsAre("a", "./b", "../c", "/d", "e/./f"));
}

TEST(Archive, LastDuplicateWins) {
  bytes_t tar = tar_entry("x", text_bytes("first, and longer")) + tar_entry("y", {}) +
                tar_entry("./x", text_bytes("last")) + kEnd;
  result r = open_payload(tar);
  ASSERT_EQ(r.status, NRT_SUCCESS) << r.text();
  EXPECT_THAT(r.opened->order, ElementsAre("x", "y"));
  EXPECT_EQ(member(r, "x"), text_bytes("last"));
  EXPECT_EQ(r.opened->archive_bytes, 4u);
}

TEST(Archive, PaddingAndTrailingBytes) {
  bytes_t tar = tar_entry("x", noise(3000, 2)) + kEnd;
  bytes_t zipped = gzip(tar);
  for (size_t zeros : {1u, 511u, 10240u, 70000u}) {
    bytes_t padded = zipped + bytes_t(zeros);
    result r = open_payload(padded);
    EXPECT_EQ(r.status, NRT_SUCCESS) << zeros << r.text();
    r = open_payload(tar + bytes_t(zeros));
    EXPECT_EQ(r.status, NRT_SUCCESS) << zeros << r.text();
  }
  // Bytes behind data_size belong to nobody.
  bytes_t file = with_header(zipped);
  file.insert(file.end(), 999, 0xEE);
  finding_sink findings;
  std::shared_ptr<const neff> out;
  neff_open_options options;
  options.validate_hash = true;
  EXPECT_EQ(neff_open(file, options, findings, &out), NRT_SUCCESS);
}

TEST(Archive, GzipMembersInARow) {
  bytes_t tar = tar_entry("x", noise(3000, 2)) + tar_entry("y", noise(100, 3)) + kEnd;
  bytes_t first(tar.begin(), tar.begin() + 1700);
  bytes_t second(tar.begin() + 1700, tar.end());
  result r = open_payload(gzip(first) + gzip(second));
  ASSERT_EQ(r.status, NRT_SUCCESS) << r.text();
  EXPECT_EQ(member(r, "x"), noise(3000, 2));
}

TEST(Archive, NotAnArchive) {
  EXPECT_EQ(open_payload({}).status, NRT_INVALID);
  EXPECT_EQ(open_payload(text_bytes("PK\3\4 this is no tar, whatever it is")).status, NRT_INVALID);
  EXPECT_EQ(open_payload(noise(4096, 9)).status, NRT_INVALID);
  EXPECT_EQ(open_payload(gzip(noise(4096, 9))).status, NRT_INVALID);
  EXPECT_EQ(open_payload(bytes_t{0x1F, 0x8B}).status, NRT_INVALID);
}

// Dialects, as the system's tar writes them, long and non-ASCII names included.
TEST(Archive, Dialects) {
  scratch_dir dir;
  std::string deep = "d";
  while (deep.size() < 300)
    deep += "/directory_number_" + std::to_string(deep.size());
  std::string accented =
      "sg00/gr\xC3\xB6\xC3\x9F"
      "e.bin";
  std::filesystem::create_directories(dir / ("in/" + deep));
  std::filesystem::create_directories(dir / "in/sg00");
  bytes_t data = noise(5000, 4);
  spit(dir / ("in/" + deep + "/file.bin"), data);
  spit(dir / ("in/" + accented), data);
  spit(dir / "in/neff.json", text_bytes("{}"));
  for (const char *format : {"gnu", "oldgnu", "pax", "posix", "ustar"}) {
    std::string what = std::string(format) == "ustar" ? "neff.json sg00" : ".";
    shell("tar -C " + (dir / "in") + " --format=" + format + " -cf " + (dir / "out.tar") + " " +
          what);
    for (bool compressed : {false, true}) {
      bytes_t tar = slurp(dir / "out.tar");
      result r = open_payload(compressed ? gzip(tar) : tar);
      ASSERT_EQ(r.status, NRT_SUCCESS) << format << r.text();
      EXPECT_EQ(member(r, accented), data) << format;
      EXPECT_EQ(member(r, "neff.json"), text_bytes("{}")) << format;
      if (what == ".") {
        EXPECT_EQ(member(r, deep + "/file.bin"), data) << format;
      }
      EXPECT_EQ(r.opened->members.size(), what == "." ? 3u : 2u);
    }
  }
}

TEST(Archive, SparseMember) {
  scratch_dir dir;
  shell("truncate -s 200000 " + (dir / "s") + " && printf x | dd of=" + (dir / "s") +
        " bs=1 seek=100000 conv=notrunc 2>/dev/null");
  bytes_t expected(200000);
  expected[100000] = 'x';
  ASSERT_EQ(slurp(dir / "s"), expected);
  for (const char *format : {"gnu", "posix"}) {
    shell("tar -C " + dir.path() + " --sparse --format=" + format + " -cf " + (dir / "o") + " s");
    result r = open_payload(slurp(dir / "o"));
    ASSERT_EQ(r.status, NRT_SUCCESS) << format << r.text();
    EXPECT_EQ(member(r, "s"), expected) << format;
  }
}

// --- damage ------------------------------------------------------------------------------------

TEST(Archive, BareTarCutAtEveryBlock) {
  bytes_t tar = tar_entry("one", noise(1500, 5)) + tar_entry("two", noise(512, 6)) +
                tar_entry("three", noise(1, 7)) + kEnd;
  size_t whole = tar.size() - 512;  // one block of zeros is end mark enough
  for (size_t size = 0; size < whole; size += 256) {
    bytes_t cut(tar.begin(), tar.begin() + static_cast<long>(size));
    result r = open_payload(cut);
    EXPECT_EQ(r.status, NRT_INVALID) << size;
    if (size > 512) {
      EXPECT_THAT(r.text(), HasSubstr("tar+0x")) << size;
    }
    if (size > 512 && size < 2048) {
      EXPECT_THAT(r.text(), HasSubstr("one: tar+0x0")) << size;
    }
    if (size > 2560 && size < 3072) {
      EXPECT_THAT(r.text(), HasSubstr("two: tar+0x800")) << size;
    }
  }
  EXPECT_EQ(open_payload(bytes_t(tar.begin(), tar.begin() + static_cast<long>(whole))).status,
            NRT_SUCCESS);
}

TEST(Archive, GzipCutAtEveryByteOfASmallOne) {
  bytes_t zipped = gzip(tar_entry("one", noise(1500, 5)) + tar_entry("two", noise(90, 6)) + kEnd);
  for (size_t size = 0; size < zipped.size(); size++)
    EXPECT_EQ(
        open_payload(bytes_t(zipped.begin(), zipped.begin() + static_cast<long>(size))).status,
        NRT_INVALID)
        << size;
}

TEST(Archive, RealPayloadCutEvery512Bytes) {
  REQUIRE_CORPUS(path, "matmul_small.neff");
  bytes_t file = slurp(path);
  size_t gzip_size = 53601;
  for (size_t size = 512; size < gzip_size; size += 512) {
    bytes_t cut(file.begin() + 1024, file.begin() + static_cast<long>(1024 + size));
    result r = open_payload(cut);
    EXPECT_EQ(r.status, NRT_INVALID) << size;
    EXPECT_THAT(r.text(), HasSubstr("cut off at payload+0x")) << size;
  }
  // The same without touching data_size fails in the header already.
  for (size_t size = 0; size < file.size(); size += 512) {
    bytes_t cut(file.begin(), file.begin() + static_cast<long>(size));
    finding_sink findings;
    std::shared_ptr<const neff> out;
    EXPECT_EQ(neff_open(cut, {}, findings, &out), NRT_INVALID) << size;
  }
}

// No flipped bit of a compressed payload may change what is read: the stream's CRC sees to that.
// Some change nothing (producer fields of the gzip header, codes that are never used): those may
// pass.
TEST(Archive, NoFlippedBitOfAGzipChangesAMember) {
  bytes_t zipped =
      gzip(tar_entry("one", noise(300, 5)) + tar_entry("two", bytes_t(900, 'x')) + kEnd);
  size_t noticed = 0;
  for (size_t offset = 0; offset < zipped.size(); offset++)
    for (unsigned bit = 0; bit < 8; bit++) {
      bytes_t flipped = zipped;
      flipped[offset] ^= static_cast<uint8_t>(1u << bit);
      result r = open_payload(flipped);
      if (r.status != NRT_SUCCESS) {
        EXPECT_EQ(r.status, NRT_INVALID) << offset << "." << bit;
        noticed++;
        continue;
      }
      ASSERT_EQ(member(r, "one"), noise(300, 5)) << offset << "." << bit;
      ASSERT_EQ(member(r, "two"), bytes_t(900, 'x')) << offset << "." << bit;
      ASSERT_EQ(r.opened->members.size(), 2u);
    }
  EXPECT_GT(noticed, zipped.size() * 8 * 9 / 10);
}

TEST(Archive, FlippedBitsOfABareTarNeverCrash) {
  bytes_t tar = tar_entry("one", noise(300, 5)) + tar_entry("two", bytes_t(900, 'x')) + kEnd;
  for (size_t offset = 0; offset < 512; offset++) {  // headers carry a checksum
    bytes_t flipped = tar;
    flipped[offset] ^= 0x04;
    finding_sink findings;
    std::shared_ptr<const neff> out;
    EXPECT_EQ(neff_open(with_header(flipped), {}, findings, &out), NRT_INVALID) << offset;
  }
  std::mt19937 random(11);
  for (int round = 0; round < 3000; round++) {
    bytes_t flipped = tar;
    for (int i = 0; i < 3; i++)
      flipped[random() % flipped.size()] ^= static_cast<uint8_t>(1u << (random() % 8));
    finding_sink findings(round % 2 == 0);
    std::shared_ptr<const neff> out;
    NRT_STATUS status = neff_open(with_header(flipped), {}, findings, &out);
    EXPECT_TRUE(status == NRT_SUCCESS || status == NRT_INVALID);
  }
}

TEST(Archive, NamesTheMemberThatIsDamaged) {
  bytes_t tar = tar_entry("good", noise(100, 1)) + tar_entry("sg00/bad.bin", noise(400000, 2)) +
                tar_entry("after", noise(100, 3)) + kEnd;
  bytes_t zipped = gzip(tar);
  zipped.resize(zipped.size() - 1000);
  result r = open_payload(zipped);
  EXPECT_EQ(r.status, NRT_INVALID);
  EXPECT_THAT(r.text(), HasSubstr("sg00/bad.bin: tar+0x400"));
  EXPECT_THAT(r.text(), HasSubstr("of 400000 bytes"));
  EXPECT_THAT(r.text(), HasSubstr("payload+0x"));
}

// --- limits ------------------------------------------------------------------------------------

TEST(Archive, ClaimsAreCheckedBeforeAllocation) {
  for (uint64_t claim : {1ull << 33, 1ull << 40, 1ull << 60, (1ull << 62) + 5, (1ull << 63) - 1}) {
    bytes_t tar = tar_header("huge", claim) + bytes_t(1024);
    for (bool compressed : {false, true}) {
      result r = open_payload(compressed ? gzip(tar) : tar);
      EXPECT_EQ(r.status, NRT_INVALID) << claim;
      EXPECT_EQ(r.opened, nullptr);
    }
  }
}

TEST(Archive, Limits) {
  bytes_t tar = tar_entry("a", noise(1000, 1)) + tar_entry("b", noise(1000, 2)) +
                tar_entry("c", noise(1000, 3)) + kEnd;
  neff_open_options options;
  options.limits.max_members = 3;
  EXPECT_EQ(open_payload(tar, options).status, NRT_SUCCESS);
  options.limits.max_members = 2;
  result r = open_payload(tar, options);
  EXPECT_EQ(r.status, NRT_INVALID);
  EXPECT_THAT(r.text(), HasSubstr("c: tar+0xc00"));
  EXPECT_THAT(r.text(), HasSubstr("OPENNRT_NEFF_MAX_MEMBERS"));

  options = {};
  options.limits.max_member_bytes = 1000;
  EXPECT_EQ(open_payload(tar, options).status, NRT_SUCCESS);
  options.limits.max_member_bytes = 999;
  r = open_payload(tar, options);
  EXPECT_EQ(r.status, NRT_INVALID);
  EXPECT_THAT(r.text(), HasSubstr("a: tar+0x0"));
  EXPECT_THAT(r.text(), HasSubstr("999"));

  options = {};
  options.limits.max_total_bytes = 3000;
  EXPECT_EQ(open_payload(tar, options).status, NRT_SUCCESS);
  options.limits.max_total_bytes = 2999;
  r = open_payload(tar, options);
  EXPECT_EQ(r.status, NRT_INVALID);
  EXPECT_THAT(r.text(), HasSubstr("c: tar+0xc00"));
  EXPECT_THAT(r.text(), HasSubstr("OPENNRT_NEFF_MAX_TOTAL_BYTES"));
}

// In collect mode every member above the limit is named.
TEST(Archive, CollectsEveryClaimAboveTheLimit) {
  bytes_t tar = tar_entry("a", noise(2000, 1)) + tar_entry("b", noise(10, 2)) +
                tar_entry("c", noise(2000, 3)) + kEnd;
  neff_open_options options;
  options.limits.max_member_bytes = 100;
  result r = open_payload(tar, options, true);
  EXPECT_EQ(r.status, NRT_INVALID);
  ASSERT_EQ(r.findings.size(), 2u);
  EXPECT_THAT(r.findings[0].where, HasSubstr("a: tar+0x0"));
  EXPECT_THAT(r.findings[1].where, HasSubstr("c: tar+0xe00"));
  EXPECT_EQ(r.opened, nullptr);
}

TEST(Archive, CollectModeLooksPastHeaderAndDigest) {
  bytes_t file = with_header(tar_entry("a", noise(10, 1)) + kEnd);
  file[0] = 9;     // packaging
  file[172] ^= 1;  // digest, unknowable then
  finding_sink findings(true);
  std::shared_ptr<const neff> out;
  neff_open_options options;
  options.validate_hash = true;
  EXPECT_EQ(neff_open(file, options, findings, &out), NRT_UNSUPPORTED_NEFF_VERSION);
  EXPECT_EQ(findings.all().size(), 1u);
  ASSERT_NE(out, nullptr);
  EXPECT_EQ(out->members.size(), 1u);
  file[0] = 2;
  finding_sink again(true);
  EXPECT_EQ(neff_open(file, options, again, &out), NRT_INVALID);
  EXPECT_EQ(again.all().size(), 1u);
  ASSERT_NE(out, nullptr);
}

// 100 MB of zeros: above the floor of 64 MiB the ratio counts.
TEST(Archive, RatioGuard) {
  scratch_dir dir;
  std::string out = dir / "bomb.gz";
  shell("truncate -s 100000000 " + (dir / "zeros") + " && tar -C " + dir.path() +
        " --format=ustar -cf - zeros | gzip -9n > " + out);
  bytes_t bomb = slurp(out);
  neff_open_options options;
  EXPECT_EQ(open_payload(bomb, options).status, NRT_SUCCESS);  // deflate reaches about 1030
  options.limits.max_ratio = 500;
  result r = open_payload(bomb, options);
  EXPECT_EQ(r.status, NRT_INVALID);
  EXPECT_THAT(r.text(), HasSubstr("OPENNRT_NEFF_MAX_RATIO"));
}

// A claim above what all members may hold ends the walk in collect mode too: skipping it would
// inflate without end.
TEST(Archive, HugeClaimEndsTheWalk) {
  scratch_dir dir;
  shell("truncate -s 100000000 " + (dir / "zeros") + " && tar -C " + dir.path() +
        " --format=ustar -cf - zeros | gzip -9n > " + (dir / "bomb.gz"));
  neff_open_options options;
  options.limits.max_total_bytes = 1000;
  result r = open_payload(slurp(dir / "bomb.gz"), options, true);
  EXPECT_EQ(r.status, NRT_INVALID);
  ASSERT_EQ(r.findings.size(), 1u);
  EXPECT_THAT(r.findings[0].what, HasSubstr("100000000"));
}

// Entries that are skipped inflate too: their bytes are bounded all the same.
TEST(Archive, SkippedEntriesAreBounded) {
  scratch_dir dir;
  shell("truncate -s 100000000 " + (dir / "wavegraph-bin.json") + " && tar -C " + dir.path() +
        " --format=ustar -cf - wavegraph-bin.json | gzip -9n > " + (dir / "bomb.gz"));
  bytes_t bomb = slurp(dir / "bomb.gz");
  neff_open_options options;
  options.limits.max_ratio = 100;
  options.limits.max_members = 10;
  result r = open_payload(bomb, options);
  EXPECT_EQ(r.status, NRT_INVALID);
  EXPECT_THAT(r.text(), HasSubstr("inflates to more than"));
}
