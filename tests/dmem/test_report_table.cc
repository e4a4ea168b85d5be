// SPDX-License-Identifier: Apache-2.0
// The texts of the memory reports against the official samples (neff-format.md 5.6(f),
// device-memory.md 4.1-4.3; 6, invariant 39).
#include "dmem/report_table.h"

#include <gmock/gmock.h>

#include <regex>
#include <sstream>
#include <vector>

using testing::ElementsAre;
using testing::ElementsAreArray;
using usage = dma_mem_usage_type_t;

namespace {

constexpr uint64_t kMB = 1 << 20;
constexpr uint64_t kGB = 1 << 30;

struct figure {
  usage what;
  uint64_t bytes;
};

dmem_report_row_t row(dmem_row_kind_t kind, uint32_t id, std::vector<figure> figures) {
  dmem_report_row_t r = {};
  r.kind = kind;
  r.id = id;
  for (const figure &f : figures)
    r.bytes[static_cast<uint32_t>(f.what)] += f.bytes;
  return r;
}

// Bytes of a figure in KB that has an exact binary fraction, as all of the samples have.
uint64_t kb(double value) {
  return static_cast<uint64_t>(value * 1024);
}

std::vector<std::string> split(const std::string &text, char by) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, by);)
    parts.push_back(part);
  return parts;
}

std::string trim(const std::string &text) {
  size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? ""
                                    : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::vector<std::string> cells(const std::string &line) {
  std::vector<std::string> out;
  for (const std::string &part : split(line, '|'))
    out.push_back(trim(part));
  return out;
}

// The sample: a request of 4 GB on core 4, three NEFFs. Each core holds microcode of 96 MB and 6 KB
// of other instructions, 13.0625 KB of runtime memory and 28 KB of rings outside its NEFFs.
std::vector<dmem_report_row_t> official_rows() {
  const std::vector<figure> base = {{usage::UCODE_LIB, 96 * kMB},
                                    {usage::INSTR_SP, kb(6)},
                                    {usage::GENERIC, kb(12)},
                                    {usage::POOL_STDIO, 1088},
                                    {usage::DMA_RING, kb(28)}};
  const std::vector<figure> n1001 = {{usage::INSTR_PE, 29248},     {usage::WEIGHT, 35168},
                                     {usage::GENERIC, 26624},      {usage::ACT_TABLE, 83968},
                                     {usage::DMA_RING_IO, kb(57)}, {usage::DMA_RING_SPILL, kb(32)},
                                     {usage::DMA_RING, kb(4)}};
  const std::vector<figure> n1002 = {
      {usage::INSTR_ACT, kb(31.875)}, {usage::WEIGHT, kb(24)},      {usage::GENERIC, 26624},
      {usage::ACT_TABLE, 83968},      {usage::DMA_RING_IO, kb(61)}, {usage::DMA_RING_SPILL, kb(16)},
      {usage::DMA_RING, kb(4)}};
  auto joined = [](std::vector<std::vector<figure>> parts) {
    std::vector<figure> all;
    for (const auto &part : parts)
      all.insert(all.end(), part.begin(), part.end());
    return all;
  };
  std::vector<figure> nc4 = joined({base, n1001, n1002, {{usage::TENSOR, 20 * kGB}}});
  std::vector<figure> nc5 = joined({base, n1002});
  return {row(dmem_row_kind_t::DEVICE, 0, joined({nc4, nc5})),
          row(dmem_row_kind_t::CORE, 4, nc4),
          row(dmem_row_kind_t::NEFF, 1001, n1001),
          row(dmem_row_kind_t::NEFF, 1002, n1002),
          row(dmem_row_kind_t::CORE, 5, nc5),
          row(dmem_row_kind_t::NEFF, 1003, n1002)};
}

}  // namespace

TEST(ReportTable, OfficialSample) {
  std::vector<dmem_report_row_t> rows = official_rows();
  std::string text = dmem_report_table(rows, false);
  EXPECT_EQ(text.back(), '\n');
  std::vector<std::string> lines = split(text, '\n');
  ASSERT_EQ(lines.size(), 8u);

  EXPECT_THAT(cells(lines[0]),
              ElementsAre("", "", "Model", "Model", "", "Shared", "", "", "DMA Rings", "DMA Rings",
                          "DMA Rings", "DMA Rings", "", "", "Profiler"));
  EXPECT_THAT(cells(lines[1]),
              ElementsAre("", "TOTAL", "Code", "Constants", "Tensors", "Scratchpad", "Scratchpad",
                          "Runtime", "IO", "Spill", "Collectives", "Runtime", "Collectives",
                          "XT CC", "Buffers"));
  // Sheet order: total, code, constants, tensors, runtime, io, spill, rings runtime.
  struct expected {
    const char *label, *total, *code, *constants, *tensors, *runtime, *io, *spill, *rings;
    bool neff;
  };
  const expected sample[] = {{"ND 0 Overall", "20.188GB", "192.102MB", "82.344KB", "20.000GB",
                              "350.125KB", "179.000KB", "64.000KB", "68.000KB", false},
                             {"\\_NC 4", "20.094GB", "96.065MB", "58.344KB", "20.000GB",
                              "229.062KB", "118.000KB", "48.000KB", "36.000KB", false},
                             {"\\_NEFF 1001", "263.906KB", "28.562KB", "34.344KB", "n/a",
                              "108.000KB", "57.000KB", "32.000KB", "4.000KB", true},
                             {"\\_NEFF 1002", "244.875KB", "31.875KB", "24.000KB", "n/a",
                              "108.000KB", "61.000KB", "16.000KB", "4.000KB", true},
                             {"\\_NC 5", "96.285MB", "96.037MB", "24.000KB", "0.000B", "121.062KB",
                              "61.000KB", "16.000KB", "32.000KB", false},
                             {"\\_NEFF 1003", "244.875KB", "31.875KB", "24.000KB", "n/a",
                              "108.000KB", "61.000KB", "16.000KB", "4.000KB", true}};
  for (size_t i = 0; i < 6; ++i) {
    const expected &e = sample[i];
    const std::string absent = e.neff ? "n/a" : "0.000B";
    const std::vector<std::string> want = {e.label,  e.total,  e.code,    e.constants, e.tensors,
                                           absent,   "0.000B", e.runtime, e.io,        e.spill,
                                           "0.000B", e.rings,  "0.000B",  absent,      absent};
    EXPECT_THAT(cells(lines[i + 2]), ElementsAreArray(want)) << e.label;
  }
}

TEST(ReportTable, Layout) {
  std::vector<dmem_report_row_t> rows = official_rows();
  std::vector<std::string> lines = split(dmem_report_table(rows, false), '\n');
  const size_t widths[] = {14, 10, 10, 10, 10, 10, 10, 10, 10, 10, 11, 10, 11, 10, 10};
  for (const std::string &line : lines) {
    EXPECT_EQ(line.size(), lines[0].size());
    std::vector<std::string> parts = split(line, '|');
    ASSERT_EQ(parts.size(), std::size(widths));
    for (size_t i = 0; i < parts.size(); ++i)
      EXPECT_EQ(parts[i].size(), widths[i]) << line << " cell " << i;
  }
  // Written out. An odd padding has its smaller half on the left.
  EXPECT_EQ(lines[1].substr(0, 47), "              |  TOTAL   |   Code   |Constants ");
  EXPECT_EQ(lines[2].substr(0, 47), "ND 0 Overall  | 20.188GB |192.102MB | 82.344KB ");
  EXPECT_EQ(lines[3].substr(0, 25), " \\_NC 4       | 20.094GB ");
  EXPECT_EQ(lines[4].substr(0, 59), "  \\_NEFF 1001 |263.906KB | 28.562KB | 34.344KB |   n/a    |");
}

TEST(ReportTable, SumsClose) {
  std::vector<dmem_report_row_t> rows = official_rows();
  for (uint32_t i = 0; i < DMEM_COLUMN_COUNT; ++i) {
    auto column = static_cast<dmem_column_t>(i);
    EXPECT_EQ(dmem_report_column(&rows[0], column),
              dmem_report_column(&rows[1], column) + dmem_report_column(&rows[4], column));
  }
  EXPECT_EQ(dmem_report_total(&rows[0]), dmem_report_total(&rows[1]) + dmem_report_total(&rows[4]));
  EXPECT_EQ(dmem_report_total(&rows[2]), 270240u);  // 263.90625 KB
}

TEST(ReportTable, NeffTotalHasNoAbsentColumn) {
  dmem_report_row_t neff = row(dmem_row_kind_t::NEFF, 1001,
                               {{usage::WEIGHT, 5},
                                {usage::TENSOR, 100},
                                {usage::SCRATCHPAD, 100},
                                {usage::NOTIFICATION, 100},
                                {usage::XT_CC, 7}});
  EXPECT_EQ(dmem_report_total(&neff), 12u);
  neff.kind = dmem_row_kind_t::CORE;
  EXPECT_EQ(dmem_report_total(&neff), 312u);
}

TEST(ReportTable, WideTextsKeepRowsEqual) {
  std::vector<dmem_report_row_t> rows = {
      row(dmem_row_kind_t::HBM, 3, {{usage::TENSOR, UINT64_MAX}, {usage::WEIGHT, 1}}),
      row(dmem_row_kind_t::NEFF, UINT32_MAX, {})};
  rows[0].device_id = 15;
  std::vector<std::string> lines = split(dmem_report_table(rows, false), '\n');
  ASSERT_EQ(lines.size(), 4u);
  for (const std::string &line : lines)
    EXPECT_EQ(line.size(), lines[0].size());
  EXPECT_EQ(cells(lines[2])[0], "ND 15 HBM 3");
  EXPECT_EQ(cells(lines[2])[1], "17179869184.000GB");  // the sum saturates
  EXPECT_EQ(cells(lines[3])[0], "\\_NEFF 4294967295");
}

TEST(ReportTable, ColumnPerUsage) {
  std::vector<dmem_report_row_t> rows = official_rows();
  std::vector<std::string> lines = split(dmem_report_table(rows, true), '\n');
  ASSERT_EQ(lines.size(), 8u);
  std::vector<std::string> heads = cells(lines[1]);
  ASSERT_EQ(heads.size(), 24u);
  EXPECT_EQ(heads[1], "TOTAL");
  auto cell = [&](size_t line, const std::string &key) {
    auto at = std::find(heads.begin(), heads.end(), key);
    return at == heads.end() ? "no column" : cells(lines[line])[at - heads.begin()];
  };
  EXPECT_EQ(cell(2, "ucode"), "192.000MB");
  EXPECT_EQ(cell(3, "pe"), "28.562KB");
  EXPECT_EQ(cell(3, "pool_stdio"), "1.062KB");
  EXPECT_EQ(cell(4, "act_table"), "82.000KB");
  EXPECT_EQ(cell(4, "tensor"), "n/a");
  EXPECT_EQ(cell(4, "shared_scratchpad"), "n/a");
  EXPECT_EQ(cell(4, "profiler_buffers"), "n/a");
  EXPECT_EQ(cell(4, "dma_rings_collectives"), "0.000B");
  EXPECT_EQ(cell(6, "tensor"), "0.000B");
  for (const std::string &line : lines)
    EXPECT_EQ(line.size(), lines[0].size());
}

// neff-format.md 5.6(f), info print of `meta_concat3`.
TEST(ReportNeff, OfficialSample) {
  dmem_report_row_t neff = row(dmem_row_kind_t::NEFF, 1001,
                               {{usage::INSTR_PE, kb(30.5625)},
                                {usage::WEIGHT, kb(24)},
                                {usage::GENERIC, 13312},
                                {usage::ACT_TABLE, 83968},
                                {usage::DMA_RING_IO, kb(61)},
                                {usage::DMA_RING_SPILL, kb(16)},
                                {usage::DMA_RING, kb(4)}});
  dmem_report_row_t core = neff;
  core.kind = dmem_row_kind_t::CORE;
  core.id = 0;
  core.bytes[static_cast<uint32_t>(usage::UCODE_LIB)] = 96 * kMB;
  core.bytes[static_cast<uint32_t>(usage::INSTR_SP)] = kb(325.5);  // to the sample's 96.543MB
  EXPECT_EQ(dmem_report_neff(0, &core, &neff, "meta_concat3"),
            "[ND 0:NC 0] Current Usage Total: 96.543MB\n"
            "\tshared scratchpad: 0.000B\n"
            "NEFF 1001 meta_concat3\n"
            "\tTotal: 230.562KB\n"
            "\t* model code: 30.562KB\n"
            "\t* model constants: 24.000KB\n"
            "\t* scratchpad: 0.000B\n"
            "\t* runtime: 95.000KB\n"
            "\t* dma rings io: 61.000KB\n"
            "\t* dma rings spill: 16.000KB\n"
            "\t* dma rings collectives: 0.000B\n"
            "\t* dma rings runtime: 4.000KB\n"
            "\t* collectives: 0.000B");
}

TEST(ReportNeff, ParsesWithThePublicPattern) {
  dmem_report_row_t neff = row(dmem_row_kind_t::NEFF, 1001, {{usage::WEIGHT, 1}});
  dmem_report_row_t core = row(dmem_row_kind_t::CORE, 7, {{usage::SCRATCHPAD, 3 * kGB}});
  std::string text = dmem_report_neff(11, &core, &neff, "a\n\tb: 1.000B");
  const std::regex head(
      "\\[ND (\\d+):NC (\\d+)\\] Current Usage Total: (\\d+\\.\\d{3}(B|KB|MB|GB))");
  const std::regex item("\\t(\\* )?([A-Za-z ]+): (\\d+\\.\\d{3}(B|KB|MB|GB))");
  std::vector<std::string> lines = split(text, '\n');
  ASSERT_EQ(lines.size(), 13u);  // a name with line breaks adds none
  std::smatch match;
  ASSERT_TRUE(std::regex_match(lines[0], match, head));
  EXPECT_EQ(match[1], "11");
  EXPECT_EQ(match[2], "7");
  EXPECT_EQ(match[3], "3.000GB");
  std::vector<std::string> names;
  for (size_t i = 1; i < lines.size(); ++i) {
    if (i == 2)
      continue;
    ASSERT_TRUE(std::regex_match(lines[i], match, item)) << lines[i];
    names.push_back(match[2]);
  }
  EXPECT_EQ(lines[2], "NEFF 1001 a??b: 1.000B");
  EXPECT_THAT(names, ElementsAre("shared scratchpad", "Total", "model code", "model constants",
                                 "scratchpad", "runtime", "dma rings io", "dma rings spill",
                                 "dma rings collectives", "dma rings runtime", "collectives"));
}
