// SPDX-License-Identifier: Apache-2.0
// Large tables, damaged input, several threads.
#include <time.h>

#include <random>
#include <thread>

#include "tests/kelf/fixture.h"
#include "tests/kelf/many_variables.h"

namespace {

// Processor time: what else the machine does must not matter.
double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

std::string many_virtual(size_t count) {
  many_variables_t wanted;
  wanted.count = count;
  return def_text(many_variables(wanted));
}

TEST(Scale, HundredThousandVariables) {
  constexpr size_t COUNT = 100000;
  std::string def = many_virtual(COUNT);
  kbin_result r = load_def(def);
  ASSERT_EQ(r.status, NRT_SUCCESS) << text_of(r.findings);
  kbin_mem_ref_set_t *set = r.kbin->mem_ref_set;
  ASSERT_EQ(set->nmem, COUNT);
  EXPECT_EQ(set->local_scratchpad_size, COUNT * 512);
  for (size_t i = 1; i < COUNT; i++) {
    ASSERT_EQ(set->mem[i].var_id, i);
    ASSERT_EQ(set->mem[i].virt.offset, i * 512);
    ASSERT_EQ(set->mem[i].name, "t125_i" + std::to_string(i) + "_RematSpillSave_sg0000");
  }
}

// Time per variable must not grow with their number beyond what ordered maps cost: ten times as
// many take well below fifty times as long. A quadratic step takes a hundred times.
TEST(Scale, TimeGrowsAboutLinearly) {
  std::string small = many_virtual(5000), large = many_virtual(50000);
  double best_small = 1e9, best_large = 1e9;
  for (int run = 0; run < 3; run++) {
    double start = cpu_seconds();
    ASSERT_EQ(load_def(small).status, NRT_SUCCESS);
    best_small = std::min(best_small, cpu_seconds() - start);
    start = cpu_seconds();
    ASSERT_EQ(load_def(large).status, NRT_SUCCESS);
    best_large = std::min(best_large, cpu_seconds() - start);
  }
  EXPECT_LT(best_large, 50 * best_small);
}

// A model that exercises every parser.
member_texts full_model() {
  member_texts model = good_model();
  model["sg00/def.json"] = def_text(
      std::string(GOOD_VARS) +
          R"(,"w":{"type":"file","size":4,"var_id":3,"file_name":"w.npy","alignment":64},)"
          R"("v":{"type":"virtual","size":7,"var_id":4,"backing_variable_off":8,"prefix":"p","pipe":1},)"
          R"("p":{"type":"pointer","size":8,"var_id":5,"referenced_var_id":1},)"
          R"("t":{"type":"dge-table","list":[1,2,4],"var_id":6},)"
          R"("tmp":{"type":"tmp-buf","size":9,"var_id":7,"dtype":"int8","shape":[3,3]})",
      R"(,"dma_queue":{"q":{"type":"data","owner":"sp","semaphore_set":[1,2],"queue_instances":["i"]}},)"
      R"("sp":"e.json","act":"a.json","dve":"d.json","cc_streams":{"num_streams":0},)"
      R"("fp8_conversion_config":{"ocp_sat":true},"replica_groups":[[[0,1]]],)"
      R"("ucode_lib":[{"library":"w.npy","ulib_to_ucode_version":"1.0","opcode":3}])");
  model["sg00/e.json"] =
      R"({"instr":"i.bin","dma":[{"id":0,"queue":"q","semaphore":1,"desc":[{"op":"copy",)"
      R"("from":"x","from_off":0,"from_sizes":[4,4],"from_steps":[1,4],"from_dtype":"float32",)"
      R"("to":"SB","to_off":64,"to_sizes":[4,4],"to_steps":[1,262144],"to_dtype":"float32"}]}]})";
  model["sg00/a.json"] = R"({"instr":[],"activation_function_sets":["s"],"act_semaphore":3})";
  model["sg00/s.json"] =
      R"({"bkt_bin":"i.bin","bkt_entry_cnt":4,"ctl_bin":"i.bin","ctl_entry_cnt":4})";
  model["sg00/d.json"] =
      R"({"instr":[],"dve_tables":[{"opcode_table":"i.bin","datapath_table":"i.bin","control_table":"i.bin"}]})";
  model["sg00/i.bin"] = std::string(128, 'i');
  model["sg00/w.npy"] = npy_text("abcd");
  return model;
}

// Whatever is done to the bytes: success, or the status of the first finding; never a crash.
void expect_sound(const nn_result &r) {
  if (r.status == NRT_SUCCESS) {
    EXPECT_TRUE(r.findings.empty());
    ASSERT_TRUE(r.nn);
    return;
  }
  EXPECT_EQ(r.nn, nullptr);
  ASSERT_FALSE(r.findings.empty());
  EXPECT_EQ(r.status, r.findings.status());
  for (const finding &f : r.findings.all()) {
    EXPECT_FALSE(f.where.empty());
    EXPECT_LT(f.where.size() + f.what.size(), 2000u);
    EXPECT_EQ((f.where + f.what).find('\n'), std::string::npos);
  }
}

TEST(Damage, MutatedMembers) {
  const member_texts good = full_model();
  ASSERT_EQ(load_nn(good).status, NRT_SUCCESS) << text_of(load_nn(good).findings);
  std::mt19937 random(20240517);
  static const char *const TOKENS[] = {
      "-1",      "0",     "1e9", "4294967296", "18446744073709551615",
      "[]",      "{}",    "\"",  "null",       "true",
      "[[[[",    "\"x\"", ",",   ":",          "}",
      "\\u0000", "\xFF",  "1.5"};
  size_t refused = 0;
  constexpr int RUNS = 4000;
  for (int run = 0; run < RUNS; run++) {
    member_texts model = good;
    auto victim = std::next(model.begin(), static_cast<long>(random() % model.size()));
    std::string &text = victim->second;
    for (unsigned edits = 1 + random() % 3; edits > 0 && !text.empty(); edits--) {
      size_t at = random() % text.size();
      switch (random() % 5) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, 1 + random() % 8);
          break;
        case 2:
          text.insert(at, TOKENS[random() % std::size(TOKENS)]);
          break;
        case 3: {  // replace a number or a word
          size_t end = text.find_first_of(",:]}", at);
          if (end != std::string::npos)
            text.replace(at, end - at, TOKENS[random() % std::size(TOKENS)]);
          break;
        }
        default:
          text.resize(at);
      }
    }
    nn_result r = load_nn(model, run % 2 == 0);
    expect_sound(r);
    refused += r.status != NRT_SUCCESS;
    if (testing::Test::HasFailure()) {
      FAIL() << "run " << run << ", member " << victim->first << ":\n" << text;
    }
  }
  EXPECT_GT(refused, RUNS / 2u);
}

TEST(Damage, EveryMemberMayBeMissing) {
  const member_texts good = full_model();
  for (const auto &[name, text] : good) {
    member_texts model = good;
    model.erase(name);
    nn_result r = load_nn(model);
    EXPECT_EQ(r.status, NRT_INVALID) << name;
    expect_sound(r);
    model[name] = "";
    expect_sound(load_nn(model, true));
  }
}

TEST(Threads, SubgraphsOfOneFileAtOnce) {
  auto source = make_neff(full_model());
  std::vector<std::thread> threads;
  std::vector<NRT_STATUS> statuses(4, NRT_FAILURE);
  std::vector<uint32_t> counts(4);
  for (size_t t = 0; t < statuses.size(); t++) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; i++) {
        finding_sink findings;
        std::unique_ptr<kbin_t> kbin;
        statuses[t] = kelf_load_from_neff(source, "sg00", "sg00/def.json", KELF_TARGET_CAYMAN, {},
                                          findings, &kbin);
        if (kbin)
          counts[t] += kbin->mem_ref_set->nmem;
      }
    });
  }
  for (std::thread &thread : threads)
    thread.join();
  for (size_t t = 0; t < statuses.size(); t++) {
    EXPECT_EQ(statuses[t], NRT_SUCCESS);
    EXPECT_EQ(counts[t], 50u * 8);
  }
}

}  // namespace
