// SPDX-License-Identifier: Apache-2.0
// The NumPy reader and writer against files written out by hand, byte for byte as NumPy makes them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/npy.h"

using testing::ElementsAre;
using testing::HasSubstr;

namespace {

using bytes_t = std::vector<uint8_t>;

// A file of the given version around a dictionary, with the spaces and newline NumPy ends it with.
bytes_t file_of(std::string dictionary, const std::string &data, uint8_t major = 1) {
  size_t base = major == 1 ? 10 : 12;
  while ((base + dictionary.size() + 1) % 64 != 0)
    dictionary += ' ';
  dictionary += '\n';
  std::string text("\x93NUMPY", 6);
  text += static_cast<char>(major);
  text += '\0';
  for (size_t i = 0; i < base - 8; i++)
    text += static_cast<char>(dictionary.size() >> 8 * i & 0xFF);
  text += dictionary + data;
  return bytes_t(text.begin(), text.end());
}

std::string dictionary(const char *descr, const char *shape, const char *order = "False") {
  return std::string("{'descr': '") + descr + "', 'fortran_order': " + order +
         ", 'shape': " + shape + ", }";
}

// Its data lie in `file`.
npy_array read_ok(const bytes_t &file) {
  finding_sink findings;
  npy_array array;
  EXPECT_EQ(npy_read(file, "a.npy", findings, &array), NRT_SUCCESS)
      << (findings.empty() ? "" : findings.all()[0].what);
  return array;
}

// The one finding of a refused file.
std::string refusal(const bytes_t &file) {
  finding_sink findings;
  npy_array array;
  EXPECT_EQ(npy_read(file, "a.npy", findings, &array), NRT_INVALID);
  EXPECT_EQ(findings.all().size(), 1u);
  if (findings.empty())
    return "";
  EXPECT_THAT(findings.all()[0].where, testing::StartsWith("a.npy"));
  return findings.all()[0].what;
}

}  // namespace

TEST(Npy, ReadsEveryVersion) {
  for (uint8_t major : {1, 2, 3}) {
    const bytes_t file = file_of(dictionary("<i2", "(2, 3)"), "abcdefghijkl", major);
    npy_array a = read_ok(file);
    EXPECT_EQ(a.kind, 'i');
    EXPECT_EQ(a.item_size, 2u);
    EXPECT_THAT(a.shape, ElementsAre(2, 3));
    EXPECT_EQ(std::string(a.data.begin(), a.data.end()), "abcdefghijkl");
  }
  EXPECT_THAT(refusal(file_of(dictionary("<i2", "(1,)"), "ab", 4)), HasSubstr("format 4.0"));
}

TEST(Npy, ReadsEveryType) {
  const struct {
    const char *descr;
    char kind;
    uint32_t size;
  } rows[] = {{"<f2", 'f', 2}, {"<f4", 'f', 4}, {"<f8", 'f', 8}, {"|i1", 'i', 1}, {"<i2", 'i', 2},
              {"<i4", 'i', 4}, {"<i8", 'i', 8}, {"|u1", 'u', 1}, {"<u2", 'u', 2}, {"<u4", 'u', 4},
              {"<u8", 'u', 8}, {"|b1", 'b', 1}, {"|V2", 'V', 2}, {"<V2", 'V', 2}, {"<i1", 'i', 1}};
  for (const auto &row : rows) {
    npy_array a = read_ok(file_of(dictionary(row.descr, "(3,)"), std::string(3 * row.size, 'x')));
    EXPECT_EQ(a.kind, row.kind) << row.descr;
    EXPECT_EQ(a.item_size, row.size) << row.descr;
  }
  for (const char *descr : {">f4", "=f4", "<c8", "<f16", "|S4", "|O", "<V3", "|f4", "<M8[ns]", ""})
    EXPECT_THAT(refusal(file_of(dictionary(descr, "(1,)"), "abcd")), HasSubstr("not supported"));
  EXPECT_THAT(refusal(file_of("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }",
                              "abcd")),
              HasSubstr("structured"));
}

TEST(Npy, ReadsShapes) {
  EXPECT_TRUE(read_ok(file_of(dictionary("|u1", "()"), "x")).shape.empty());
  EXPECT_THAT(read_ok(file_of(dictionary("|u1", "(2,)"), "xy")).shape, ElementsAre(2));
  EXPECT_THAT(read_ok(file_of(dictionary("|u1", "(0, 5)"), "")).shape, ElementsAre(0, 5));
  EXPECT_THAT(read_ok(file_of(dictionary("|u1", "( 1 ,2 , 1,)"), "xy")).shape,
              ElementsAre(1, 2, 1));
  // An empty array whose other dimension is beyond every size.
  EXPECT_THAT(read_ok(file_of(dictionary("<f8", "(18446744073709551615, 0)"), "")).shape,
              ElementsAre(UINT64_MAX, 0));
  for (const char *shape :
       {"(2)", "2", "(2, 3", "(-1,)", "(02,)", "(1.5,)", "(2 3)", "(,)", "(a,)"})
    refusal(file_of(dictionary("|u1", shape), "xy"));
  EXPECT_THAT(refusal(file_of(dictionary("|u1", "(18446744073709551616,)"), "x")),
              HasSubstr("64 bits"));
  EXPECT_THAT(refusal(file_of(dictionary("<f8", "(4294967296, 4294967296)"), "x")),
              HasSubstr("more than 1099511627776 bytes"));
  std::string many = "(";
  for (int i = 0; i < 33; i++)
    many += "1,";
  EXPECT_THAT(refusal(file_of(dictionary("|u1", (many + ")").c_str()), "x")),
              HasSubstr("more than 32"));
}

TEST(Npy, FortranOrderOnlyWhereItIsTheSame) {
  EXPECT_THAT(read_ok(file_of(dictionary("|u1", "(1, 3, 1)", "True"), "xyz")).shape,
              ElementsAre(1, 3, 1));
  EXPECT_THAT(refusal(file_of(dictionary("|u1", "(2, 2)", "True"), "wxyz")),
              HasSubstr("Fortran order"));
}

TEST(Npy, HeaderKeysInAnyOrderEachOnce) {
  npy_array a = read_ok(file_of(R"({"shape":(1,),"fortran_order":False,"descr":"<f4"})", "abcd"));
  EXPECT_EQ(npy_descr(a), "<f4");
  EXPECT_THAT(refusal(file_of("{'descr': '|u1', 'shape': (1,), }", "x")), HasSubstr("must be"));
  EXPECT_THAT(refusal(file_of("{'descr': '|u1', 'descr': '|u1', }", "x")), HasSubstr("twice"));
  EXPECT_THAT(refusal(file_of("{'other': 1, }", "x")), HasSubstr("unknown"));
  refusal(file_of(dictionary("|u1", "(1,)", "0"), "x"));
  refusal(file_of(dictionary("|u1", "(1,)") + "}", "x"));
  refusal(file_of("", "x"));
}

TEST(Npy, LengthsMustFit) {
  bytes_t good = file_of(dictionary("<f4", "(2,)"), "abcdefgh");
  for (size_t size = 0; size < good.size(); size++)
    refusal(bytes_t(good.begin(), good.begin() + static_cast<ptrdiff_t>(size)));
  good.push_back(0);
  EXPECT_THAT(refusal(good), HasSubstr("9 bytes of data, shape and type need 8"));
  bytes_t huge = file_of(dictionary("<f4", "(2,)"), "abcdefgh", 2);
  huge[11] = 0xFF;  // top byte of the header's length
  EXPECT_THAT(refusal(huge), HasSubstr("the limit is 10000"));
}

// What numpy.save writes for numpy.arange(3, dtype='<u2'), taken from its documented format.
TEST(Npy, WritesAsNumPyDoes) {
  const uint8_t data[] = {0, 0, 1, 0, 2, 0};
  npy_array a;
  a.kind = 'u';
  a.item_size = 2;
  a.shape = {3};
  a.data = data;
  finding_sink findings;
  bytes_t file;
  ASSERT_EQ(npy_write(a, "a.npy", findings, &file), NRT_SUCCESS);
  std::string expected("\x93NUMPY\x01\x00\x76\x00", 10);
  expected += "{'descr': '<u2', 'fortran_order': False, 'shape': (3,), }";
  expected.resize(127, ' ');
  expected += '\n';
  expected.append(reinterpret_cast<const char *>(data), sizeof(data));
  EXPECT_EQ(std::string(file.begin(), file.end()), expected);
}

TEST(Npy, WriterRefusesWhatItCouldNotReadBack) {
  const uint8_t data[8] = {};
  finding_sink findings(true);
  bytes_t file;
  npy_array a;
  a.data = data;
  a.kind = 'c';
  a.shape = {8};
  EXPECT_EQ(npy_write(a, "a.npy", findings, &file), NRT_INVALID);
  a.kind = 'u';
  a.shape = {7};
  EXPECT_EQ(npy_write(a, "a.npy", findings, &file), NRT_INVALID);
  a.shape = std::vector<uint64_t>(33, 1);
  EXPECT_EQ(npy_write(a, "a.npy", findings, &file), NRT_INVALID);
  a.shape = {UINT64_MAX, UINT64_MAX};
  EXPECT_EQ(npy_write(a, "a.npy", findings, &file), NRT_INVALID);
  EXPECT_EQ(findings.all().size(), 4u);
  EXPECT_TRUE(file.empty());
}
