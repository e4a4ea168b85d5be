// SPDX-License-Identifier: Apache-2.0
#include "neff/neff_write.h"

#include <gmock/gmock.h>

#include <random>

#include "tests/neff/neff_test.h"

using testing::HasSubstr;

namespace {

neff_write_members some_members() {
  std::mt19937 random(1);
  bytes_t noise(100'000);
  for (auto &byte : noise)
    byte = static_cast<uint8_t>(random());
  std::string deep = "sg00/";
  for (int i = 0; i < 40; i++)
    deep += "a_long_directory/";
  return {{"neff.json", text_bytes("{}")},
          {"sg00/PE.bin", noise},
          {"sg00/empty.bin", {}},
          {"sg00/gr\xC3\xB6\xC3\x9F"
           "e",
           text_bytes("utf-8")},
          {"sg00/latin\xE9", text_bytes("not utf-8")},
          {deep + "weights.npy", bytes_t(70'000, 9)}};
}

bytes_t write_ok(const neff_write_members &members, const neff_write_options &options = {}) {
  finding_sink findings;
  bytes_t out;
  EXPECT_EQ(neff_write(members, options, findings, &out), NRT_SUCCESS);
  for (const finding &f : findings.all())
    ADD_FAILURE() << f.where << ": " << f.what;
  return out;
}

uint64_t get_u64(const bytes_t &file, size_t offset) {
  uint64_t value = 0;
  for (size_t i = 0; i < 8; i++)
    value |= static_cast<uint64_t>(file[offset + i]) << (8 * i);
  return value;
}

NRT_STATUS refused(const neff_write_members &members, const neff_write_options &options) {
  finding_sink findings;
  bytes_t out;
  NRT_STATUS status = neff_write(members, options, findings, &out);
  EXPECT_EQ(findings.all().size(), 1u);
  EXPECT_TRUE(out.empty());
  return status;
}

// What Python's tarfile sees: type, mode, time, owner, size and digest per member.
constexpr const char *kInspect = R"(
import hashlib, io, sys, tarfile, zlib
data = open(sys.argv[1], 'rb').read()[1024:]
if data[:2] == b'\x1f\x8b':
    assert data[4:8] == b'\0\0\0\0', 'gzip time'
    d = zlib.decompressobj(31)
    data = d.decompress(data)
    assert d.eof
t = tarfile.open(fileobj=io.BytesIO(data), encoding='utf-8', errors='surrogateescape')
for m in t:
    body = t.extractfile(m).read()
    line = f'{m.isreg()} {m.mode:o} {m.mtime} {m.uname} {m.gname} {m.size} {hashlib.md5(body).hexdigest()} {m.name}\n'
    sys.stdout.buffer.write(line.encode('utf-8', 'surrogateescape'))
)";

std::string hex(const bytes_t &bytes) {
  std::string out;
  for (uint8_t byte : bytes)
    out += fmt::format("{:02x}", byte);
  return out;
}

}  // namespace

TEST(Write, HeaderFields) {
  neff_write_options options;
  options.name = "my model";
  options.feature_bits = 0xC00;
  options.lnc_size = 2;
  options.num_tpb = 1;
  bytes_t file = write_ok(some_members(), options);
  EXPECT_EQ(get_u64(file, 0), 2u);
  EXPECT_EQ(get_u64(file, 8), 1024u);
  EXPECT_EQ(get_u64(file, 16), file.size() - 1024);
  EXPECT_EQ(get_u64(file, 24), 2u);
  EXPECT_EQ(get_u64(file, 32), 0u);
  EXPECT_EQ(get_u64(file, 168) & 0xFFFFFFFF, 1u);
  EXPECT_STREQ(reinterpret_cast<const char *>(file.data() + 220), "my model");
  EXPECT_EQ(file[476], 1);
  EXPECT_EQ(file[480], 1);
  EXPECT_EQ(file[481], 0);
  EXPECT_EQ(get_u64(file, 544), 0xC00u);
  EXPECT_EQ(file[552], 2);
  for (size_t i = 556; i < 1024; i++)
    ASSERT_EQ(file[i], 0) << i;
  EXPECT_EQ(file[204 + 6] >> 4, 4);     // version nibble
  EXPECT_EQ(file[204 + 8] >> 6, 0b10);  // variant
}

TEST(Write, DigestForms) {
  auto stored = [](const bytes_t &file) { return bytes_t(file.begin() + 172, file.begin() + 204); };
  auto payload = [](const bytes_t &file) { return bytes_t(file.begin() + 1024, file.end()); };
  bytes_t file = write_ok(some_members());
  bytes_t md5 = evp_digest(EVP_md5(), payload(file));
  bytes_t expected = md5;
  expected.resize(32);
  EXPECT_EQ(stored(file), expected);

  neff_write_options options;
  options.word_reversed_md5 = true;
  file = write_ok(some_members(), options);
  for (size_t i = 0; i < 16; i++)
    EXPECT_EQ(stored(file)[i], md5[i / 4 * 4 + 3 - i % 4]);

  options = {};
  options.pkg_version = 1;
  file = write_ok(some_members(), options);
  EXPECT_EQ(get_u64(file, 0), 1u);
  EXPECT_EQ(stored(file), evp_digest(EVP_sha256(), payload(file)));
}

TEST(Write, PythonReadsIt) {
  scratch_dir dir;
  neff_write_members members = some_members();
  std::string expected;
  for (const auto &[name, bytes] : members)
    expected += fmt::format("True 664 0 nobody nobody {} {} {}\n", bytes.size(),
                            hex(evp_digest(EVP_md5(), bytes)), name);
  for (bool compress : {true, false})
    for (bool pad : {false, true}) {
      neff_write_options options;
      options.compress = compress;
      options.pad = pad;
      bytes_t file = write_ok(members, options);
      EXPECT_EQ(file[1024] == 0x1F && file[1025] == 0x8B, compress);
      if (pad) {
        EXPECT_EQ((file.size() - 1024) % 10240, 0u);
      }
      spit(dir / "f.neff", file);
      EXPECT_EQ(python(dir, kInspect, dir / "f.neff"), expected) << compress << pad;
    }
}

TEST(Write, OurReaderReadsIt) {
  neff_write_members members = some_members();
  for (bool compress : {true, false})
    for (uint64_t pkg : {1, 2})
      for (bool reversed : {false, true}) {
        neff_write_options options;
        options.compress = compress;
        options.pkg_version = pkg;
        options.word_reversed_md5 = reversed;
        options.pad = reversed;
        bytes_t file = write_ok(members, options);
        neff_open_options open_options;
        open_options.validate_hash = true;
        finding_sink findings;
        std::shared_ptr<const neff> opened;
        ASSERT_EQ(neff_open(file, open_options, findings, &opened), NRT_SUCCESS);
        ASSERT_EQ(opened->members.size(), members.size());
        for (const auto &[name, bytes] : members) {
          const auto *found = opened->find(name);
          ASSERT_NE(found, nullptr) << name;
          EXPECT_EQ(bytes_t(found->begin(), found->end()), bytes) << name;
        }
      }
}

TEST(Write, ReproducibleAndIdentifiedByContent) {
  bytes_t first = write_ok(some_members());
  sleep(1);  // a time that crept in would have moved on
  EXPECT_EQ(write_ok(some_members()), first);
  neff_write_members other = some_members();
  other["neff.json"] = text_bytes("[]");
  bytes_t second = write_ok(other);
  EXPECT_NE(bytes_t(first.begin() + 204, first.begin() + 220),
            bytes_t(second.begin() + 204, second.begin() + 220));
  neff_write_options options;
  for (uint8_t i = 0; i < 16; i++)
    options.uuid[i] = i;
  bytes_t given = write_ok(other, options);
  EXPECT_EQ(memcmp(given.data() + 204, options.uuid, 16), 0);
}

// gzip's level 1 leaves its mark (XFL 4), as in real files.
TEST(Write, GzipHeaderLikeTheCompilers) {
  bytes_t file = write_ok(some_members());
  EXPECT_EQ(bytes_t(file.begin() + 1024, file.begin() + 1034),
            (bytes_t{0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 4, 3}));
}

TEST(Write, RefusesWhatAReaderWouldRefuse) {
  neff_write_options options;
  options.name = std::string(256, 'x');
  EXPECT_EQ(refused({}, options), NRT_INVALID);
  options.name = std::string(255, 'x');
  EXPECT_FALSE(write_ok({}, options).empty());
  options = {};
  options.version_major = 3;
  EXPECT_EQ(refused({}, options), NRT_UNSUPPORTED_NEFF_VERSION);
  options = {};
  options.pkg_version = 0;
  EXPECT_EQ(refused({}, options), NRT_UNSUPPORTED_NEFF_VERSION);
  for (unsigned bit : {27u, 45u, 62u}) {
    options = {};
    options.feature_bits = 1ull << bit;
    EXPECT_EQ(refused({}, options), NRT_UNSUPPORTED_NEFF_VERSION) << bit;
  }
  for (const std::string &name :
       {std::string(), std::string(5000, 'n'), std::string("a\0b", 3), std::string("./a"),
        std::string("sg00/"), std::string("x/wavegraph-bin.json")})
    EXPECT_EQ(refused({{name, {}}}, {}), NRT_INVALID) << name.substr(0, 20);
}

TEST(Collect, FindsFilesBelow) {
  scratch_dir dir;
  std::filesystem::create_directories(dir / "in/sg00/deeper");
  std::filesystem::create_directories(dir / "in/nothing");
  spit(dir / "in/neff.json", text_bytes("{}"));
  spit(dir / "in/sg00/PE.bin", bytes_t(100, 3));
  spit(dir / "in/sg00/deeper/x", {});
  std::filesystem::create_symlink("PE.bin", dir / "in/sg00/link.bin");
  neff_write_members members;
  finding_sink findings;
  ASSERT_EQ(neff_collect_directory(dir / "in", findings, &members), NRT_SUCCESS);
  neff_write_members expected = {{"neff.json", text_bytes("{}")},
                                 {"sg00/PE.bin", bytes_t(100, 3)},
                                 {"sg00/deeper/x", {}},
                                 {"sg00/link.bin", bytes_t(100, 3)}};
  EXPECT_EQ(members, expected);
}

TEST(Collect, RefusesLinksThatLeaveAndStrangeFiles) {
  scratch_dir dir;
  std::filesystem::create_directories(dir / "in/sub");
  spit(dir / "secret", bytes_t(5));
  spit(dir / "in/sub/wavegraph-bin.json", bytes_t(5));
  std::filesystem::create_symlink("../secret", dir / "in/out");
  std::filesystem::create_symlink("nowhere", dir / "in/dangling");
  std::filesystem::create_symlink("sub", dir / "in/loop");
  std::filesystem::create_symlink("/dev/zero", dir / "in/zero");
  shell("mkfifo " + (dir / "in/pipe"));
  neff_write_members members;
  finding_sink first;
  EXPECT_EQ(neff_collect_directory(dir / "in", first, &members), NRT_INVALID);
  EXPECT_EQ(first.all().size(), 1u);
  finding_sink all(true);
  EXPECT_EQ(neff_collect_directory(dir / "in", all, &members), NRT_INVALID);
  std::vector<std::string> where;
  for (const finding &f : all.all())
    where.push_back(f.where);
  EXPECT_THAT(where, testing::UnorderedElementsAre("out", "dangling", "loop", "zero", "pipe",
                                                   "sub/wavegraph-bin.json"));
  EXPECT_TRUE(members.empty());
  finding_sink absent;
  EXPECT_EQ(neff_collect_directory(dir / "absent", absent, &members), NRT_INVALID);
  EXPECT_EQ(neff_collect_directory(dir / "secret", absent, &members), NRT_INVALID);
}
