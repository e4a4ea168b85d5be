// SPDX-License-Identifier: Apache-2.0
// The report of a shortage below the stack: its text, its files, and the figures per NEFF
// (device-memory.md 2.8; 6, invariants 11 and 28).
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <regex>
#include <thread>

#include "dmem/memlog.h"
#include "dmem/neffs.h"
#include "dmem/oom_dump.h"
#include "dmem/oom_report.h"
#include "tests/dmem/machine.h"

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kGiB = 1 << 30;

// A directory of its own for one test, and the variable that names it.
class Oom : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "oom_test_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory = std::filesystem::absolute(name);
    set("NEURON_RT_OOM_DUMP_DIRECTORY", directory);
  }
  void TearDown() override {
    for (const auto &[name, value] : before) {
      if (value.empty())
        unsetenv(name.c_str());
      else
        setenv(name.c_str(), value.c_str(), 1);
    }
    nlog_configure_from_env();
    std::filesystem::remove_all(directory);
  }
  void set(const char *name, const std::string &value) {
    const char *old = getenv(name);
    before.emplace_back(name, old == nullptr ? "" : old);
    setenv(name, value.c_str(), 1);
  }

  std::vector<std::string> files() {
    std::vector<std::string> names;
    for (const auto &entry : std::filesystem::directory_iterator(directory))
      names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  // The lines of the one file whose name matches.
  std::vector<std::string> lines(const std::string &pattern) {
    std::vector<std::string> found;
    for (const std::string &name : files()) {
      if (!std::regex_match(name, std::regex(pattern)))
        continue;
      std::ifstream in(directory + "/" + name);
      for (std::string line; std::getline(in, line);)
        found.push_back(line);
    }
    return found;
  }

  // Asks for more than the HBM has and hands back the record.
  static std::string fail(machine *m, size_t size, size_t alignment, const char *hint = nullptr,
                          uint32_t core = 5) {
    log_lines errors(NLOG_LEVEL_ERROR);
    dmem_t *mem = nullptr;
    EXPECT_EQ(dmem_alloc_aligned(m->allocators[core], size, dma_mem_location_t::TONGA_DRAM,
                                 m->cores[core]->hbm_index, nullptr, dma_mem_usage_type_t::TENSOR,
                                 hint, alignment, &mem),
              NRT_RESOURCE);
    EXPECT_EQ(mem, nullptr);
    EXPECT_THAT(errors.lines, SizeIs(1));
    return errors.lines.empty() ? "" : errors.lines[0];
  }

  std::string directory;
  std::vector<std::pair<std::string, std::string>> before;
};

std::vector<std::string> split(const std::string &text) {
  std::vector<std::string> out;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    out.push_back(line);
  return out;
}

}  // namespace

TEST_F(Oom, EverythingInOneRecord) {
  machine m;
  m.open("trn2.3xlarge");
  dmem_device_set_lnc(m.stats, 1);
  m.device_mem(20 * kGiB, 0, 4, 2);
  m.device_mem(300 * 1024, 0, 5, 2);  // to the small pool
  dmem_allocator_t *model = nullptr;
  ASSERT_EQ(dmem_allocator_create(dmem_allocator_type_t::MODEL, m.cores[4].get(), &model),
            NRT_SUCCESS);
  ASSERT_EQ(dmem_allocator_set_neff(model, 1001, "bert\nlarge"), NRT_SUCCESS);
  dmem_t *weights = nullptr;
  ASSERT_EQ(dmem_alloc(model, 35168, dma_mem_location_t::TONGA_DRAM, 2, nullptr,
                       dma_mem_usage_type_t::WEIGHT, nullptr, &weights),
            NRT_SUCCESS);

  std::vector<std::string> report = split(fail(&m, 4 * kGiB, 4 * kMiB, "logits"));
  ASSERT_GE(report.size(), 12u);
  EXPECT_THAT(report[0],
              AllOf(HasSubstr("nd0 nc5 hbm 2: out of device memory: 4294967296 bytes (4.000GB), "
                              "alignment 4194304, for tensors 'logits'"),
                    HasSubstr("free: 3.984GB, largest hole: 2.984GB")));
  EXPECT_EQ(report[1], "logical core size 1: ND 0 HBM 2 is shared by NC 4, NC 5");
  EXPECT_THAT(report[2], HasSubstr("aligned request can fail although enough bytes are free"));
  // Small pool: 1 GiB less 300 KiB and the page-rounded 35168 bytes (9 pages).
  EXPECT_THAT(report[3], AllOf(HasSubstr("main pool 2.984GB (largest block 2.984GB)"),
                               HasSubstr("small pool 1023.672MB")));
  EXPECT_THAT(report[5], HasSubstr("|  TOTAL   |   Code   |"));
  EXPECT_THAT(report[6], HasSubstr("ND 0 HBM 2    | 20.000GB |"));
  EXPECT_THAT(report[7], HasSubstr(" \\_NC 4       | 20.000GB |"));
  EXPECT_THAT(report[8], HasSubstr("  \\_NEFF 1001 | 34.344KB |  0.000B  | 34.344KB |   n/a    |"));
  EXPECT_THAT(report[9], HasSubstr(" \\_NC 5       |300.000KB |"));
  EXPECT_EQ(report[10], "NEFF 1001: bert?large");
  for (size_t i = 5; i < 10; ++i)
    EXPECT_EQ(report[i].size(), report[4].size());
  EXPECT_THAT(report[11], AllOf(HasSubstr("dump files: "), HasSubstr(directory)));
  EXPECT_EQ(report.size(), 12u);

  // The table file holds what the report showed.
  std::vector<std::string> table(report.begin() + 4, report.begin() + 11);
  EXPECT_EQ(lines("neuron_mem_table_device_0_hbm_2\\.log"), table);
  dmem_free(weights);
  dmem_allocator_destroy(model);
}

TEST_F(Oom, WithoutAlignmentOnACoreOfItsOwn) {
  machine m;
  m.open("trn1.2xlarge");
  std::string report = fail(&m, 17 * kGiB, 0, nullptr, 1);
  EXPECT_THAT(report, AllOf(HasSubstr("alignment none"), HasSubstr("for tensors;"),
                            Not(HasSubstr("shared by")), Not(HasSubstr("aligned request"))));
}

TEST_F(Oom, FilesHoldTheEventsAndTheDriversChunks) {
  machine m;
  m.open("trn2.3xlarge");
  time_t begin = time(nullptr);
  dmem_t *a = nullptr;
  ASSERT_EQ(dmem_alloc(m.allocators[4], 5000, dma_mem_location_t::TONGA_DRAM, 2, nullptr,
                       dma_mem_usage_type_t::WEIGHT, "a,\"b\"", &a),
            NRT_SUCCESS);
  dmem_t *b = m.device_mem(3 * kMiB, 0, 5, 2);
  uint64_t a_pa = a->_pa;
  dmem_free(a);
  fail(&m, 30 * kGiB, 0);
  time_t end = time(nullptr);

  std::vector<std::string> names = files();
  ASSERT_THAT(names, SizeIs(3));
  std::smatch match;
  ASSERT_TRUE(std::regex_match(names[0], match,
                               std::regex("neuron_mem_log_device_0_hbm_2_([0-9a-f]+)\\.csv")));
  time_t stamp = std::stol(match[1], nullptr, 16);
  EXPECT_TRUE(stamp >= begin && stamp <= end) << stamp;
  EXPECT_EQ(names[1], "neuron_mem_table_device_0_hbm_2.log");
  EXPECT_TRUE(std::regex_match(names[2], std::regex("nrt_mem_log_device_0_[0-9a-f]+\\.csv")));

  auto hex = [](uint64_t value) {
    std::ostringstream text;
    text << "0x" << std::hex << value;
    return text.str();
  };
  EXPECT_THAT(
      lines("nrt_mem_log.*"),
      ElementsAre("action,location,usage,hbm,hint,core,size,pa,align_offset,hbm_total",
                  "alloc,device,weight,2,\"a,\"\"b\"\"\",4,5000," + hex(a_pa) + ",0,5000",
                  "alloc,device,tensor,2,\"\",5,3145728," + hex(b->_pa) + ",0,3150728",
                  "free,device,weight,2,\"a,\"\"b\"\"\",4,5000," + hex(a_pa) + ",0,3145728"));
  // The firmware's 16 MiB (category 13), then the tensor (category 9).
  EXPECT_THAT(
      lines("neuron_mem_log.*"),
      ElementsAre("pa,size,category", "0x800000000000,16777216,13", hex(b->_pa) + ",3145728,9"));
}

TEST_F(Oom, OneSetASecondAndSixteenInAll) {
  dmem_dump_limit_t limit = {};
  EXPECT_TRUE(dmem_dump_due(&limit, 100));
  EXPECT_FALSE(dmem_dump_due(&limit, 100));
  EXPECT_FALSE(dmem_dump_due(&limit, 100));
  EXPECT_TRUE(dmem_dump_due(&limit, 101));
  EXPECT_TRUE(dmem_dump_due(&limit, 99));  // the clock was set back
  for (uint64_t second = 200; second < 213; ++second)
    EXPECT_TRUE(dmem_dump_due(&limit, second));
  for (uint64_t second = 300; second < 400; ++second)
    EXPECT_FALSE(dmem_dump_due(&limit, second));

  machine m;
  m.open("trn2.3xlarge");
  m.device_mem(1, 0, 5, 2);
  size_t said = 0;
  for (int i = 0; i < 200; ++i)
    said += fail(&m, 30 * kGiB, 0).find("dump files: none; per device one set a second") !=
            std::string::npos;
  // 200 failures take well below 15 seconds: sets of two stamped files, and the one table.
  EXPECT_LE(files().size(), 2 * DMEM_DUMP_MAX_SETS + 1);
  EXPECT_GE(said, 200u - DMEM_DUMP_MAX_SETS);
}

TEST_F(Oom, DirectoryThatIsNotThere) {
  set("NEURON_RT_OOM_DUMP_DIRECTORY", directory + "/missing");
  set("NEURON_RT_LOG_LEVEL", "WARN");
  nlog_configure_from_env();
  machine m;
  m.open("trn2.3xlarge");
  m.device_mem(1);
  log_lines warnings(NLOG_LEVEL_WARN);
  dmem_t *mem = nullptr;
  EXPECT_EQ(dmem_alloc(m.allocators[0], 30 * kGiB, dma_mem_location_t::TONGA_DRAM, 0, nullptr,
                       dma_mem_usage_type_t::TENSOR, nullptr, &mem),
            NRT_RESOURCE);
  EXPECT_THAT(warnings.lines,
              ElementsAre(AllOf(HasSubstr("NEURON_RT_OOM_DUMP_DIRECTORY"),
                                HasSubstr(directory + "/missing"), HasSubstr("ENOENT"))));
  EXPECT_THAT(files(), SizeIs(0));
}

// Warnings are off by default: the record says it, too.
TEST_F(Oom, RecordSaysWhyThereAreNoFiles) {
  set("NEURON_RT_OOM_DUMP_DIRECTORY", directory + "/miss\ning");
  machine m;
  m.open("trn2.3xlarge");
  EXPECT_THAT(split(fail(&m, 30 * kGiB, 0)).back(),
              AllOf(HasSubstr("dump files: none; '" + directory + "/miss?ing/"),
                    HasSubstr("cannot be written (ENOENT)")));
}

// A link that waits under the table's name is replaced, not written through.
TEST_F(Oom, DoesNotWriteThroughLinks) {
  std::string victim = directory + "/victim";
  std::ofstream(victim) << "precious\n";
  std::string table = directory + "/neuron_mem_table_device_0_hbm_2.log";
  ASSERT_EQ(symlink(victim.c_str(), table.c_str()), 0);
  machine m;
  m.open("trn2.3xlarge");
  fail(&m, 30 * kGiB, 0);
  EXPECT_THAT(lines("victim"), ElementsAre("precious"));
  EXPECT_FALSE(std::filesystem::is_symlink(table));
  EXPECT_THAT(lines("neuron_mem_table.*"), SizeIs(5));
}

// Ranks that share a device run out in the same second; files of earlier ones stay as they are.
TEST_F(Oom, TakenNamesGetTheProcessId) {
  time_t now = time(nullptr);
  std::vector<std::string> taken;
  for (time_t second = now; second < now + 60; ++second) {
    std::ostringstream hex;
    hex << std::hex << second << ".csv";
    for (const char *name : {"nrt_mem_log_device_0_", "neuron_mem_log_device_0_hbm_2_"}) {
      taken.push_back(directory + "/" + name + hex.str());
      std::ofstream(taken.back()) << "first\n";
    }
  }
  machine m;
  m.open("trn2.3xlarge");
  m.device_mem(1, 0, 5, 2);
  std::string last = split(fail(&m, 30 * kGiB, 0)).back();
  std::string own = "[0-9a-f]+_" + std::to_string(getpid()) + "\\.csv";
  EXPECT_THAT(lines("nrt_mem_log_device_0_" + own), SizeIs(2));
  EXPECT_THAT(lines("neuron_mem_log_device_0_hbm_2_" + own), SizeIs(3));
  EXPECT_TRUE(std::regex_search(last, std::regex("nrt_mem_log_device_0_" + own))) << last;
  for (const std::string &path : taken)
    EXPECT_EQ(std::filesystem::file_size(path), 6u) << path;
}

TEST_F(Oom, TurnedOff) {
  set("NEURON_RT_ENABLE_DEVICE_MEMORY_OOM_LOG", "0");
  machine m;
  m.open("trn2.3xlarge");
  EXPECT_THAT(split(fail(&m, 30 * kGiB, 4096)), ElementsAre(HasSubstr("out of device memory")));
  EXPECT_THAT(files(), SizeIs(0));
}

TEST_F(Oom, ColumnPerUsage) {
  set("NEURON_RT_DBG_VERBOSE_DEV_MEM", "1");
  machine m;
  m.open("trn2.3xlarge");
  std::string report = fail(&m, 30 * kGiB, 0);
  for (uint32_t i = 0; i < DMEM_USAGE_COUNT; ++i)
    EXPECT_THAT(report, HasSubstr(dmem_usage_key(static_cast<dma_mem_usage_type_t>(i))));
  EXPECT_THAT(report, Not(HasSubstr("Constants")));
}

// While threads allocate and free and others run out of memory: every failure is one record, the
// files stay bounded, and by the event log no byte ever has two holders.
TEST_F(Oom, ThreadsAllocateWhileOthersRunOut) {
  machine m;
  m.open("trn2.3xlarge");
  constexpr int kRounds = 3000, kFailures = 100;
  std::atomic<int> wrong = 0;
  auto allocate = [&](uint32_t core, size_t size, NRT_STATUS expected, int rounds) {
    for (int i = 0; i < rounds; ++i) {
      unsigned long errors = nlog_thread_error_count();
      dmem_t *mem = nullptr;
      NRT_STATUS status = dmem_alloc(m.allocators[core], size, dma_mem_location_t::TONGA_DRAM,
                                     m.cores[core]->hbm_index, nullptr,
                                     dma_mem_usage_type_t::TENSOR, nullptr, &mem);
      unsigned long written = nlog_thread_error_count() - errors;
      wrong += status != expected || written != (expected == NRT_SUCCESS ? 0u : 1u) ? 1 : 0;
      dmem_free(mem);
    }
  };
  std::vector<std::thread> threads;
  for (uint32_t core : {4u, 5u, 4u, 5u}) {
    threads.emplace_back(allocate, core, 3 * kMiB, NRT_SUCCESS, kRounds);
    threads.emplace_back(allocate, core, 30 * kGiB, NRT_RESOURCE, kFailures);
  }
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(files().size(), 2 * DMEM_DUMP_MAX_SETS + 1);

  dmem_device_t *device = m.cores[4]->stats;
  std::vector<dmem_event_t> events(dmem_memlog_copy(device, nullptr, 0));
  ASSERT_EQ(dmem_memlog_copy(device, events.data(), events.size()), events.size());
  EXPECT_EQ(events.size(), 2u * 4 * kRounds);
  std::map<uint64_t, uint64_t> held;
  for (const dmem_event_t &e : events) {
    if (e.action == dmem_event_action_t::FREE) {
      EXPECT_EQ(held.erase(e.pa), 1u);
      continue;
    }
    auto next = held.lower_bound(e.pa);
    EXPECT_TRUE(next == held.end() || e.pa + e.size <= next->first);
    EXPECT_TRUE(next == held.begin() || std::prev(next)->first + std::prev(next)->second <= e.pa);
    held.emplace(e.pa, e.size);
  }
  EXPECT_TRUE(held.empty());
}

TEST_F(Oom, MalformedSwitches) {
  for (const char *name :
       {"NEURON_RT_ENABLE_DEVICE_MEMORY_OOM_LOG", "NEURON_RT_DBG_VERBOSE_DEV_MEM"}) {
    setenv(name, "maybe", 1);
    log_lines errors(NLOG_LEVEL_ERROR);
    dmem_device_t *device = nullptr;
    EXPECT_EQ(dmem_device_create(0, &device), NRT_INVALID);
    EXPECT_EQ(device, nullptr);
    EXPECT_THAT(errors.lines, ElementsAre(AllOf(HasSubstr(name), HasSubstr("maybe"))));
    unsetenv(name);
  }
}

// Invariants 11 and 28 with models coming and going: after every operation each figure equals a
// recount of the live handles.
TEST(Neffs, FiguresEqualARecount) {
  machine m;
  m.open("trn2.3xlarge");
  struct model_t {
    uint32_t id, core;
    dmem_allocator_t *allocator;
    std::vector<dmem_t *> live;
  };
  std::mt19937_64 random(28);
  std::vector<model_t> models;
  std::vector<dmem_t *> global;
  uint32_t next_id = 1001;
  for (int step = 0; step < 600; ++step) {
    uint64_t what = random() % 10;
    if (models.size() < 2 || (what == 0 && models.size() < 12)) {
      model_t model = {next_id++, static_cast<uint32_t>(random() % 8), nullptr, {}};
      ASSERT_EQ(dmem_allocator_create(dmem_allocator_type_t::MODEL, m.cores[model.core].get(),
                                      &model.allocator),
                NRT_SUCCESS);
      ASSERT_EQ(dmem_allocator_set_neff(model.allocator, model.id,
                                        ("neff" + std::to_string(model.id)).c_str()),
                NRT_SUCCESS);
      models.push_back(model);
    } else if (what == 1) {
      model_t gone = models[random() % models.size()];
      std::erase_if(models, [&](const model_t &each) { return each.id == gone.id; });
      for (dmem_t *mem : gone.live)
        dmem_free(mem);
      dmem_allocator_destroy(gone.allocator);
    } else {
      bool to_model = random() % 3 != 0;
      model_t &model = models[random() % models.size()];
      std::vector<dmem_t *> &live = to_model ? model.live : global;
      if (!live.empty() && random() % 3 == 0) {
        std::swap(live[random() % live.size()], live.back());
        dmem_free(live.back());
        live.pop_back();
      } else {
        uint32_t core = to_model ? model.core : static_cast<uint32_t>(random() % 8);
        auto usage = static_cast<dma_mem_usage_type_t>(random() % DMEM_USAGE_COUNT);
        uint32_t category = 0;
        bool host = random() % 5 == 0 &&
                    dmem_usage_category(usage, dma_mem_location_t::HOST_DRAM, &category);
        dmem_t *mem = nullptr;
        ASSERT_EQ(dmem_alloc(to_model ? model.allocator : m.allocators[core], 1 + random() % 99999,
                             host ? dma_mem_location_t::HOST_DRAM : dma_mem_location_t::TONGA_DRAM,
                             core / 2, nullptr, usage, nullptr, &mem),
                  NRT_SUCCESS);
        live.push_back(mem);
      }
    }
    auto recount = [](const std::vector<dmem_t *> &live, uint32_t core, dmem_report_row_t *row) {
      for (const dmem_t *mem : live) {
        if (mem->mem_type == dma_mem_location_t::TONGA_DRAM && mem->pcore->nc_id == core)
          row->bytes[static_cast<uint32_t>(mem->mem_usage_type)] += mem->allocated_size;
      }
    };
    for (uint32_t hbm = 0; hbm < 4; ++hbm) {
      dmem_holdings_t holdings;
      dmem_device_holdings(m.stats, hal_arch(m.hal), hbm, &holdings);
      std::vector<dmem_report_row_t> expected = {{dmem_row_kind_t::HBM, 0, hbm, {}}};
      std::vector<std::pair<uint32_t, std::string>> names;
      for (uint32_t core : {2 * hbm, 2 * hbm + 1}) {
        dmem_report_row_t row = {dmem_row_kind_t::CORE, 0, core, {}};
        recount(global, core, &row);
        for (const model_t &model : models)
          recount(model.live, core, &row);
        for (uint32_t i = 0; i < DMEM_USAGE_COUNT; ++i)
          expected[0].bytes[i] += row.bytes[i];
        expected.push_back(row);
        for (const model_t &model : models) {  // ascending ids
          if (model.core != core)
            continue;
          dmem_report_row_t neff = {dmem_row_kind_t::NEFF, 0, model.id, {}};
          recount(model.live, core, &neff);
          expected.push_back(neff);
          names.emplace_back(model.id, "neff" + std::to_string(model.id));
        }
      }
      ASSERT_EQ(holdings.rows.size(), expected.size()) << "step " << step;
      for (size_t i = 0; i < expected.size(); ++i) {
        ASSERT_EQ(holdings.rows[i].kind, expected[i].kind) << "step " << step << " row " << i;
        ASSERT_EQ(holdings.rows[i].id, expected[i].id) << "step " << step << " row " << i;
        for (uint32_t u = 0; u < DMEM_USAGE_COUNT; ++u)
          ASSERT_EQ(holdings.rows[i].bytes[u], expected[i].bytes[u]) << "step " << step;
      }
      std::sort(names.begin(), names.end());
      ASSERT_EQ(holdings.names.size(), names.size());
      for (size_t i = 0; i < names.size(); ++i) {
        ASSERT_EQ(holdings.names[i].neff_id, names[i].first);
        ASSERT_EQ(holdings.names[i].name, names[i].second);
      }
    }
  }
  for (model_t &model : models) {
    for (dmem_t *mem : model.live)
      dmem_free(mem);
    dmem_allocator_destroy(model.allocator);
  }
  for (dmem_t *mem : global)
    dmem_free(mem);
}
