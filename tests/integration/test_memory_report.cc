// SPDX-License-Identifier: Apache-2.0
// Memory reports of the whole stack: the block of a load, and what a shortage says
// (device-memory.md 2.8, 4.3, 4.5).
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <regex>
#include <sstream>

#include "dmem/neffs.h"
#include "tdrv/exec_unit.h"
#include "tdrv/scratchpad.h"
#include "tdrv/tensor.h"
#include "tests/integration/stack.h"

using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

namespace {

std::vector<std::string> split(const std::string &text) {
  std::vector<std::string> out;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    out.push_back(line);
  return out;
}

double bytes_of(const std::string &number, const std::string &unit) {
  static const std::map<std::string, double> factors = {
      {"B", 1}, {"KB", 1024}, {"MB", 1024 * 1024}, {"GB", 1024.0 * 1024 * 1024}};
  return std::stod(number) * factors.at(unit);
}

// A block of a load, read with the pattern of the public parsers.
struct block_t {
  uint32_t device, core, neff;
  std::string name;
  double core_total;
  std::map<std::string, double> items;  // without "Total" and "shared scratchpad"
  double total, shared;
};

bool parse(const std::string &text, block_t *out) {
  static const std::regex head(
      "\\[ND (\\d+):NC (\\d+)\\] Current Usage Total: ([\\d.]+)(B|KB|MB|GB)");
  static const std::regex item("\\t(\\* )?([A-Za-z ]+): ([\\d.]+)(B|KB|MB|GB)");
  static const std::regex neff("NEFF (\\d+) (.*)");
  *out = {};
  for (const std::string &line : split(text)) {
    std::smatch m;
    if (std::regex_match(line, m, head)) {
      out->device = static_cast<uint32_t>(std::stoul(m[1]));
      out->core = static_cast<uint32_t>(std::stoul(m[2]));
      out->core_total = bytes_of(m[3], m[4]);
    } else if (std::regex_match(line, m, neff)) {
      out->neff = static_cast<uint32_t>(std::stoul(m[1]));
      out->name = m[2];
    } else if (std::regex_match(line, m, item)) {
      double bytes = bytes_of(m[3], m[4]);
      if (m[2] == "Total")
        out->total = bytes;
      else if (m[2] == "shared scratchpad")
        out->shared = bytes;
      else
        out->items[m[2]] = bytes;
    } else {
      return false;
    }
  }
  return out->neff != 0;
}

std::vector<block_t> blocks(const log_capture &log) {
  std::vector<block_t> found;
  for (const std::string &text : log.lines(NLOG_LEVEL_INFO)) {
    block_t block;
    if (text.starts_with("[ND ")) {
      EXPECT_TRUE(parse(text, &block)) << text;
      found.push_back(block);
    }
  }
  return found;
}

// Files of shortages go where the test can look at them.
class MemoryReport : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "oom_stack_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory = std::filesystem::absolute(name);
    const char *old = getenv(kVariable);
    before = old == nullptr ? "" : old;
    setenv(kVariable, directory.c_str(), 1);
  }
  void TearDown() override {
    if (before.empty())
      unsetenv(kVariable);
    else
      setenv(kVariable, before.c_str(), 1);
    std::filesystem::remove_all(directory);
  }
  static constexpr const char *kVariable = "NEURON_RT_OOM_DUMP_DIRECTORY";
  std::string directory, before;
};

double image_bytes(stack &s, H_NN h, uint32_t subgraph) {
  kmgr_model_t *model = kmgr_model_get(s.kmgr, h);
  uint64_t records = 0;
  for (uint32_t e = 0; e < ISA_ENGINE_COUNT; ++e)
    records += program_image(model->exec->programs[subgraph], static_cast<isa_engine_t>(e))->slots;
  kmgr_model_put(s.kmgr, model);
  return static_cast<double>(records * ISA_RECORD_BYTES);
}

}  // namespace

TEST_F(MemoryReport, BlockPerCoreAtLoad) {
  stack s;
  ASSERT_TRUE(s.ok());
  sample_t sample = sample_make();
  sample.options.name = "two cores";
  log_capture log("INFO");
  H_NN first = 0, second = 0;
  ASSERT_EQ(s.load(sample_bytes(sample), 1, &first), NRT_SUCCESS);
  std::vector<block_t> seen = blocks(log);
  ASSERT_THAT(seen, SizeIs(2));
  for (uint32_t k = 0; k < 2; ++k) {
    const block_t &b = seen[k];
    EXPECT_EQ(b.device, 0u);
    EXPECT_EQ(b.core, 2 + k);  // logical core 1
    EXPECT_EQ(b.neff, 1001 + k);
    EXPECT_EQ(b.name, "two cores");
    EXPECT_THAT(b.items, SizeIs(9));
    // Sums of file variables and of temporaries, from the sample's definition.
    EXPECT_NEAR(b.items.at("model constants"), kSampleWeights, 1);
    EXPECT_NEAR(b.items.at("scratchpad"), kSampleTmp + kSampleDbg, 1);
    // The third decimal of a size in KB stands for 1 byte.
    EXPECT_NEAR(b.items.at("model code"), image_bytes(s, first, k), 1);
    double sum = 0;
    for (const auto &[name, bytes] : b.items)
      sum += bytes;
    EXPECT_NEAR(b.total, sum, 2);
    // No other memory but the core's own. The third decimal of a size in MB stands for 1049 bytes.
    EXPECT_NEAR(b.core_total, b.total + b.shared + kResidentBytes, b.core_total < kMiB ? 3 : 526);
  }
  // Inputs and outputs have one slot per logical core, counted on its first core.
  EXPECT_GE(seen[0].items.at("runtime"), kSampleIn0 + kSampleIn1 + kSampleOut0);
  EXPECT_LT(seen[1].items.at("runtime"), kSampleIn0);

  // Shared arena of 2 MiB and 4 KiB, two local ones of 4 MiB: one page of 64 MiB on the first core.
  EXPECT_EQ(seen[0].shared, 64.0 * kMiB);
  EXPECT_EQ(seen[1].shared, 0);

  log.clear();
  ASSERT_EQ(s.load(sample_bytes(sample), 1, &second), NRT_SUCCESS);
  seen = blocks(log);
  ASSERT_THAT(seen, SizeIs(2));
  EXPECT_EQ(seen[0].neff, 1003u);
  EXPECT_NEAR(seen[1].core_total, 2 * seen[1].total + kResidentBytes, 100);
}

TEST_F(MemoryReport, NoBlockBelowInfo) {
  stack s;
  log_capture log("WARN");
  H_NN h = 0;
  ASSERT_EQ(s.load(sample_file(), 0, &h), NRT_SUCCESS);
  EXPECT_THAT(blocks(log), SizeIs(0));
}

// A core's queues lie in host memory: the driver counts them there (device-memory.md 2.1: category
// 6), and reports of device memory leave them out, as any other host memory.
TEST_F(MemoryReport, NotificationQueuesAreHostMemory) {
  stack s;
  ASSERT_TRUE(s.ok());
  auto queues = [&](const char *where) {
    std::string path =
        fmt::format("/sys/devices/virtual/neuron_device/neuron0/{}/notifications/total", where);
    int fd = mock_open(s.host, getpid(), path.c_str(), O_RDONLY);
    EXPECT_GE(fd, 0) << path;
    char text[32] = "";
    EXPECT_GT(mock_read(s.host, getpid(), fd, text, sizeof(text) - 1), 0);
    mock_close(s.host, getpid(), fd);
    return strtoull(text, nullptr, 10);
  };
  const char *host = "stats/memory_usage/host_mem";
  const char *device = "neuron_core0/stats/memory_usage/device_mem";
  H_NN h = 0;
  EXPECT_EQ(queues(host), 0u);
  ASSERT_EQ(s.load(sample_file(), 0, &h), NRT_SUCCESS);
  // Two cores: a page for each engine's queue, 64 KiB for errors.
  EXPECT_EQ(queues(host), 2 * (5 * 4096u + 65536u));
  EXPECT_EQ(queues(device), 0u);
  auto column = static_cast<uint32_t>(dma_mem_usage_type_t::NOTIFICATION);
  EXPECT_EQ(s.counters()[0].by_usage[0][column], 0u);
  ASSERT_EQ(s.unload(h), NRT_SUCCESS);
  EXPECT_EQ(queues(host), 0u);
}

// A load that does not fit: one record that names the models already there and the one that failed.
TEST_F(MemoryReport, LoadThatDoesNotFit) {
  stack s({.hbm_size = 3 * kGiB});
  ASSERT_TRUE(s.ok());
  sample_t small = sample_make();
  small.options.name = "resident";
  H_NN h = 0;
  ASSERT_EQ(s.load(sample_bytes(small), 2, &h), NRT_SUCCESS);
  std::vector<chunk_t> chunks = s.chunks();
  std::vector<dmem_usage_table_t> counters = s.counters();
  sample_t big = sample_make({.variant = 1});
  big.options.name = "too big";
  big.replace("sg01/def.json", R"("size": 70000, "alignment": 4096)",
              R"("size": 3000000000, "alignment": 4096)");
  log_capture log("WARN");
  H_NN none = 0;
  EXPECT_EQ(s.load(sample_bytes(big), 2, &none), NRT_RESOURCE);
  ASSERT_THAT(log.errors(), SizeIs(1));
  EXPECT_THAT(log.lines(NLOG_LEVEL_WARN), SizeIs(0));
  std::string report = log.errors()[0];
  EXPECT_THAT(split(report)[0],
              AllOf(HasSubstr("nd0 nc5 hbm 2"), HasSubstr("3000000000 bytes (2.794GB)"),
                    HasSubstr("alignment 4096"), HasSubstr("scratchpad 'tmp'")));
  EXPECT_THAT(report, HasSubstr("logical core size 2: ND 0 HBM 2 is shared by NC 4, NC 5"));
  for (const char *row : {"\n \\_NC 4", "\n \\_NC 5", "\n  \\_NEFF 1001", "\n  \\_NEFF 1002",
                          "\n  \\_NEFF 1003", "\n  \\_NEFF 1004", "\nNEFF 1001: resident",
                          "\nNEFF 1002: resident", "\nNEFF 1003: too big", "\nNEFF 1004: too big"})
    EXPECT_THAT(report, HasSubstr(row));
  size_t files = 0;
  for ([[maybe_unused]] const auto &each : std::filesystem::directory_iterator(directory))
    ++files;
  EXPECT_EQ(files, 3u);

  // Nothing stays: memory, counters, names.
  EXPECT_EQ(s.chunks(), chunks);
  EXPECT_TRUE(s.counters() == counters);
  dmem_holdings_t holdings;
  dmem_device_holdings(tdrv_vcore(s.tdrv, 2)->tpbs[0]->pcore.stats, hal_arch(s.hal), 2, &holdings);
  ASSERT_THAT(holdings.names, SizeIs(2));
  EXPECT_EQ(holdings.names[0].name, "resident");
  EXPECT_EQ(s.unload(h), NRT_SUCCESS);
}

TEST_F(MemoryReport, BadDirectoryOnlyCostsTheFiles) {
  setenv(kVariable, "/dev/null", 1);
  stack s({.hbm_size = 3 * kGiB});
  sample_t big = sample_make();
  big.replace("sg01/def.json", R"("size": 70000, "alignment": 4096)",
              R"("size": 3000000000, "alignment": 4096)");
  log_capture log("WARN");
  H_NN none = 0;
  EXPECT_EQ(s.load(sample_bytes(big), 2, &none), NRT_RESOURCE);
  EXPECT_THAT(log.errors(), SizeIs(1));
  EXPECT_THAT(log.lines(NLOG_LEVEL_WARN),
              testing::ElementsAre(AllOf(HasSubstr(kVariable), HasSubstr("/dev/null"))));
  EXPECT_EQ(s.load(sample_file(), 2, &none), NRT_SUCCESS);
}

TEST_F(MemoryReport, ContiguousScratchpadThatCannotGrow) {
  stack s({.hbm_size = 3 * kGiB});
  sample_t big = sample_make();
  // One virtual variable of 4 GiB: more than the main pool of 2 GiB.
  big.replace("sg00/def.json", R"("backing_variable_off": 1048576)",
              R"("backing_variable_off": 4294967296)");
  log_capture log;
  H_NN none = 0;
  EXPECT_EQ(s.load(sample_bytes(big), 0, &none), NRT_RESOURCE);
  ASSERT_THAT(log.errors(), SizeIs(1));
  // Main pool: 2 GiB less 16 MiB hold 31 pages of 64 MiB.
  EXPECT_THAT(log.errors()[0],
              AllOf(HasSubstr("67108864 bytes (64.000MB)"), HasSubstr("for shared scratchpad"),
                    HasSubstr("holds 2080374784 bytes and cannot grow"), HasSubstr("main pool"),
                    HasSubstr("1.938GB")));
}

namespace {

// One row of device-memory.md 4.5: tensors and scratchpad as public logs state them, in GB with
// three decimals, then a page more.
struct figure_t {
  const char *name;
  double tensors, scratchpad, others;  // GB
  uint64_t page;
  const char *page_text, *held_text;
  double nominally_free;  // GB
};

uint64_t gigabytes(double value) {
  return static_cast<uint64_t>(value * static_cast<double>(kGiB));
}

uint64_t pages(double size, uint64_t page) {
  return gigabytes(size) / page;
}

}  // namespace

TEST_F(MemoryReport, PublicFailureFigures) {
  const figure_t figures[] = {
      {"1 GB page at 22.056", 12.052, 10, 0.004, kGiB, "1.000GB", "22.056GB", 1.944},
      {"512 MB page at 23.056", 12.052, 11, 0.004, kGiB / 2, "512.000MB", "23.056GB", 0.944},
      {"1 GB page at 22.500", 21.369, 1, 0.131, kGiB, "1.000GB", "22.500GB", 1.5}};
  for (const figure_t &f : figures) {
    SCOPED_TRACE(f.name);
    stack s({.page_size = f.page, .contiguous = false});
    ASSERT_TRUE(s.ok());
    vcore_t *vcore = tdrv_vcore(s.tdrv, 0);
    const physical_core_t *pcore = &vcore->tpbs[0]->pcore;
    std::vector<tensor_t *> tensors;
    auto tensor = [&](uint64_t size) {
      tensor_t *t = nullptr;
      EXPECT_EQ(tensor_allocate(s.tdrv, tensor_placement_t::DEVICE, 0, size, "t", &t), NRT_SUCCESS);
      tensors.push_back(t);
    };
    // The rest of the held memory first, in small pieces: instructions and rings of real programs.
    dmem_list_t *others = dmem_list_create();
    for (uint64_t left = gigabytes(f.others); left > 0;) {
      uint64_t size = std::min<uint64_t>(left, 256 * kKiB);
      dmem_t *mem = nullptr;
      ASSERT_EQ(dmem_alloc(vcore->tpbs[0]->global_allocator, size, dma_mem_location_t::TONGA_DRAM,
                           0, others, dma_mem_usage_type_t::INSTR_PE, nullptr, &mem),
                NRT_SUCCESS);
      left -= size;
    }
    uint64_t rest = gigabytes(f.tensors);
    for (; rest > kGiB; rest -= kGiB)
      tensor(kGiB);
    tensor(rest);
    // The arena as it was, then a model that needs one page more.
    uint64_t held_pages = pages(f.scratchpad, f.page);
    uint64_t now[] = {held_pages * f.page}, more[] = {(held_pages + 1) * f.page}, none[] = {0};
    tdrv_scratchpad_model_t model = {}, grown = {};
    ASSERT_EQ(tdrv_scratchpad_model_init(vcore->tpbs, vcore->num_tpbs, now, none, 1, &model),
              NRT_SUCCESS);
    dmem_usage_table_t table;
    dmem_device_snapshot(pcore->stats, &table);
    double nominal = static_cast<double>(24 * kGiB - table.hbm_total[0]) / kGiB;
    EXPECT_NEAR(nominal, f.nominally_free, 0.0005);

    log_capture log;
    EXPECT_EQ(tdrv_scratchpad_model_init(vcore->tpbs, vcore->num_tpbs, more, none, 1, &grown),
              NRT_RESOURCE);
    ASSERT_THAT(log.errors(), SizeIs(1));
    EXPECT_THAT(split(log.errors()[0])[0],
                AllOf(HasSubstr("(" + std::string(f.page_text) +
                                "), alignment 4194304, for shared "
                                "scratchpad"),
                      HasSubstr("held by this process: " + std::string(f.held_text))));
    tdrv_scratchpad_cleanup(&model);
    for (tensor_t *t : tensors)
      tensor_free(t);
    dmem_list_destroy(others);
  }
}
