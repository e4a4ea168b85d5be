// SPDX-License-Identifier: Apache-2.0
// Real compiler output, compared with what Python's gzip and tarfile make of it and with the
// figures of the format sheet.
#include <zlib.h>

#include "neff/neff_file.h"
#include "tests/neff/neff_test.h"

namespace {

// One line per member: size, CRC-32, name, in archive order.
constexpr const char *kList = R"(
import io, sys, tarfile, zlib
data = open(sys.argv[1], 'rb').read()
size = int.from_bytes(data[16:24], 'little')
d = zlib.decompressobj(31)
tar = d.decompress(data[1024:1024 + size])
for m in tarfile.open(fileobj=io.BytesIO(tar)):
    body = tar[m.offset_data:m.offset_data + m.size]
    print(m.size, zlib.crc32(body), m.name)
print(len(tar))
)";

std::shared_ptr<const neff> open_file(const std::string &path, bytes_t *file) {
  finding_sink findings;
  neff_file_bytes bytes;
  EXPECT_EQ(neff_file_read(path, findings, &bytes), NRT_SUCCESS);
  file->assign(bytes.span().begin(), bytes.span().end());
  neff_open_options options;
  options.validate_hash = true;
  std::shared_ptr<const neff> out;
  EXPECT_EQ(neff_open(*file, options, findings, &out), NRT_SUCCESS);
  for (const finding &f : findings.all())
    ADD_FAILURE() << f.where << ": " << f.what;
  return out;
}

void compare_with_python(const std::string &name) {
  std::string path = corpus(name);
  bytes_t file;
  auto opened = open_file(path, &file);
  ASSERT_NE(opened, nullptr);
  scratch_dir dir;
  std::istringstream list(python(dir, kList, path));
  std::string line;
  std::vector<std::string> lines;
  while (std::getline(list, line))
    lines.push_back(line);
  ASSERT_FALSE(lines.empty());
  EXPECT_EQ(std::to_string(opened->tar_bytes), lines.back());
  lines.pop_back();
  ASSERT_EQ(opened->order.size(), lines.size());
  for (size_t i = 0; i < lines.size(); i++) {
    const auto *bytes = opened->find(opened->order[i]);
    ASSERT_NE(bytes, nullptr);
    auto crc = crc32(0, bytes->data(), static_cast<uInt>(bytes->size()));
    EXPECT_EQ(std::to_string(bytes->size()) + " " + std::to_string(crc) + " " + opened->order[i],
              lines[i]);
    for (size_t pad = 0; pad < NEFF_MEMBER_PADDING; pad++)
      ASSERT_EQ(bytes->data()[bytes->size() + pad], 0) << opened->order[i];
  }
}

}  // namespace

TEST(Corpus, MatmulSmallFigures) {
  REQUIRE_CORPUS(path, "matmul_small.neff");
  bytes_t file;
  auto opened = open_file(path, &file);
  ASSERT_NE(opened, nullptr);
  EXPECT_EQ(file.size(), 62464u);
  EXPECT_EQ(+opened->header.data_size, 61440u);
  EXPECT_EQ(+opened->header.feature_bits, 0x209C00u);
  EXPECT_EQ(+opened->header.lnc_size, 2u);
  EXPECT_EQ(neff_uuid_text(opened->header.uuid), "00a04c535fd94f07bffdd5eacdefc852");
  EXPECT_STREQ(opened->header.name, "file.neff");
  EXPECT_TRUE(opened->compressed);
  EXPECT_EQ(opened->members.size(), 72u);
  EXPECT_EQ(opened->tar_bytes, 356864u);
  EXPECT_EQ(opened->dropped.size(), 0u);
  ASSERT_NE(opened->find("sg00/PE.bin"), nullptr);
  EXPECT_EQ(opened->find("sg00/PE.bin")->size(), 12u * 64);
  EXPECT_EQ(opened->find("sg01/DVE.bin")->size(), 2u * 64);
  EXPECT_EQ(opened->find("sg00/act_info.json")->size(), 15859u);
  EXPECT_EQ(opened->find("no/such/member"), nullptr);
}

TEST(Corpus, AttentionUuid) {
  REQUIRE_CORPUS(path, "attn_v6.neff");
  bytes_t file;
  auto opened = open_file(path, &file);
  ASSERT_NE(opened, nullptr);
  EXPECT_EQ(neff_uuid_text(opened->header.uuid), "0ec6131aecd84683b3a8b8f19256750e");
}

TEST(Corpus, SameMembersAsPython) {
  REQUIRE_CORPUS(path, "matmul_small.neff");
  for (const char *name : {"matmul_small.neff", "matmul_large.neff", "attn_v6.neff"})
    compare_with_python(name);
}

// The header of a real file, each gated field broken in turn.
TEST(Corpus, MutatedRealHeader) {
  REQUIRE_CORPUS(path, "attn_v6.neff");
  bytes_t file = slurp(path);
  struct {
    size_t offset;
    uint64_t value;
    NRT_STATUS status;
  } cases[] = {{0, 3, NRT_UNSUPPORTED_NEFF_VERSION},
               {8, file.size(), NRT_INVALID},
               {16, file.size() - 1023, NRT_INVALID},
               {24, 3, NRT_UNSUPPORTED_NEFF_VERSION},
               {544, 1ull << 27, NRT_UNSUPPORTED_NEFF_VERSION}};
  for (auto &c : cases) {
    bytes_t mutated = file;
    put_u64(mutated, c.offset, c.value);
    finding_sink findings;
    std::shared_ptr<const neff> out;
    EXPECT_EQ(neff_open(mutated, {}, findings, &out), c.status) << c.offset;
    EXPECT_EQ(out, nullptr);
    EXPECT_EQ(findings.all().size(), 1u);
  }
  bytes_t damaged = file;
  damaged[1024 + 5000] ^= 0x10;
  neff_open_options options;
  options.validate_hash = true;
  finding_sink findings;
  std::shared_ptr<const neff> out;
  EXPECT_EQ(neff_open(damaged, options, findings, &out), NRT_INVALID);
  EXPECT_EQ(findings.all().at(0).where, "header+0xac");
}
