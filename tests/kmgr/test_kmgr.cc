// SPDX-License-Identifier: Apache-2.0
#include "kmgr/kmgr.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <chrono>
#include <new>
#include <thread>

#include "tests/kmgr/fakes.h"
#include "tests/kmgr/log_capture.h"

using testing::AllOf;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

class Kmgr : public testing::Test {
 protected:
  void SetUp() override {
    fake.reset();
    ASSERT_EQ(kmgr_create(fake_tdrv(), &options_, &kmgr_), NRT_SUCCESS);
  }
  void TearDown() override {
    kmgr_destroy(kmgr_);
    EXPECT_EQ(fake.placements, 0);
  }

  NRT_STATUS load(const std::vector<uint8_t> &file, int32_t vnc, H_NN *out) {
    return kmgr_load(kmgr_, file.data(), file.size(), vnc, out);
  }
  uint32_t vnc_of(H_NN h_nn) {
    kmgr_model_t *model = kmgr_model_get(kmgr_, h_nn);
    if (model == nullptr)
      return UINT32_MAX;
    uint32_t vnc = model->vnc;
    kmgr_model_put(kmgr_, model);
    return vnc;
  }
  std::vector<H_NN> models() {
    std::vector<H_NN> out(64);
    out.resize(kmgr_models(kmgr_, out.data(), out.size()));
    return out;
  }
  kmgr_cache_stats_t stats() {
    kmgr_cache_stats_t s;
    kmgr_cache_stats(kmgr_, &s);
    return s;
  }

  kmgr_options_t options_;
  kmgr_t *kmgr_ = nullptr;
  std::vector<uint8_t> file_ = fake_file("cayman 2", 1);
};

TEST_F(Kmgr, LoadFillsTheModel) {
  log_capture log("INFO");
  H_NN h_nn = 0;
  ASSERT_EQ(load(file_, 2, &h_nn), NRT_SUCCESS);
  kmgr_model_t *model = kmgr_model_get(kmgr_, h_nn);
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(model->h_nn, h_nn);
  EXPECT_EQ(model->vnc, 2u);
  EXPECT_EQ(model->nn->kbins.size(), 2u);
  EXPECT_EQ(model->placement->num_kbins, 2u);
  EXPECT_NE(model->h_models[0], model->h_models[1]);
  EXPECT_EQ(fake.neff_name, "fake");
  EXPECT_THAT(fake.neff_ids, ElementsAreArray(model->h_models));
  kmgr_model_put(kmgr_, model);
  EXPECT_EQ(fake.placements, 1);
  EXPECT_EQ(kmgr_unload(kmgr_, h_nn), NRT_SUCCESS);
  EXPECT_EQ(fake.placements, 0);
  EXPECT_EQ(kmgr_model_get(kmgr_, h_nn), nullptr);
  EXPECT_THAT(log.lines(NLOG_LEVEL_INFO),
              ElementsAre(AllOf(HasSubstr("loaded model 10001"), HasSubstr("'fake'")),
                          HasSubstr("unloaded model 10001 from logical core 2")));
}

TEST_F(Kmgr, AnyCoreMeansTheOneWithFewestModelsLowestFirst) {
  H_NN h[6];
  for (int i = 0; i < 5; i++)
    ASSERT_EQ(load(file_, -1, &h[i]), NRT_SUCCESS);
  EXPECT_EQ(vnc_of(h[0]), 0u);
  EXPECT_EQ(vnc_of(h[1]), 1u);
  EXPECT_EQ(vnc_of(h[2]), 2u);
  EXPECT_EQ(vnc_of(h[3]), 3u);
  EXPECT_EQ(vnc_of(h[4]), 0u);
  // Core 2 becomes the emptiest.
  ASSERT_EQ(kmgr_unload(kmgr_, h[2]), NRT_SUCCESS);
  ASSERT_EQ(load(file_, -1, &h[5]), NRT_SUCCESS);
  EXPECT_EQ(vnc_of(h[5]), 2u);
}

TEST_F(Kmgr, AFailedLoadDoesNotCountAgainstItsCore) {
  H_NN h_nn = 7;
  fake.on_stage = [](vcore_t *) { return NRT_RESOURCE; };
  for (int i = 0; i < 3; i++)
    EXPECT_EQ(load(file_, 0, &h_nn), NRT_RESOURCE);
  EXPECT_EQ(h_nn, 7u);
  fake.on_stage = nullptr;
  // Placed, but a program that cannot run: the placement goes again.
  fake.on_ready = [](vcore_t *) { return NRT_INVALID; };
  EXPECT_EQ(load(file_, 0, &h_nn), NRT_INVALID);
  EXPECT_EQ(fake.placements, 0);
  fake.on_ready = nullptr;
  ASSERT_EQ(load(file_, -1, &h_nn), NRT_SUCCESS);
  EXPECT_EQ(vnc_of(h_nn), 0u);
  EXPECT_EQ(h_nn, 10001u);  // failures take no number
}

TEST_F(Kmgr, EveryRefusalIsOneErrorLineWithItsReason) {
  log_capture log;
  H_NN h_nn = 0;
  auto expect = [&](NRT_STATUS status, NRT_STATUS wanted, const char *text) {
    EXPECT_EQ(status, wanted) << text;
    EXPECT_THAT(log.errors(), ElementsAre(HasSubstr(text)));
    log.clear();
    EXPECT_THAT(models(), ElementsAre());
    EXPECT_EQ(fake.placements, 0);
  };
  expect(load(file_, 4, &h_nn), NRT_INVALID,
         "logical core 4 does not exist; accepted: -1 (any) and 0 to 3");
  expect(load(file_, -2, &h_nn), NRT_INVALID, "logical core -2 does not exist");
  expect(kmgr_load(kmgr_, nullptr, 5000, 0, &h_nn), NRT_INVALID, "no NEFF given");
  expect(kmgr_load(kmgr_, file_.data(), 0, 0, &h_nn), NRT_INVALID, "no NEFF given");
  expect(kmgr_load(kmgr_, file_.data(), 1023, 0, &h_nn), NRT_INVALID, "header: too short");
  expect(load(fake_file("cayman 2", 1, 0x400, 4), 0, &h_nn), NRT_LOAD_NOT_ENOUGH_NC,
         "needs logical cores of 4");
  expect(load(fake_file("cayman 2", 1, 0x400, 1), 0, &h_nn), NRT_INVALID,
         "compiled for logical cores of 1");
  expect(load(fake_file("sunda 1", 1), 0, &h_nn), NRT_INVALID, "compiled for sunda");
  fake.on_stage = [](vcore_t *) { return NRT_RESOURCE; };
  expect(load(file_, 0, &h_nn), NRT_RESOURCE, "placement refused");
  fake.on_parse = [](const std::string &) { return NRT_UNSUPPORTED_NEFF_VERSION; };
  expect(load(file_, 0, &h_nn), NRT_UNSUPPORTED_NEFF_VERSION, "payload: refused by the test");
  fake.on_parse = [](const std::string &) -> NRT_STATUS { throw std::bad_alloc(); };
  expect(load(file_, 0, &h_nn), NRT_RESOURCE, "no host memory");
  expect(kmgr_unload(kmgr_, 10001), NRT_INVALID_HANDLE, "no model 10001 is loaded");
  EXPECT_EQ(h_nn, 0u);
}

TEST_F(Kmgr, ParseIsSharedWhileAModelOfItIsLoaded) {
  H_NN a = 0, b = 0, c = 0;
  ASSERT_EQ(load(file_, 0, &a), NRT_SUCCESS);
  ASSERT_EQ(load(file_, 1, &b), NRT_SUCCESS);
  EXPECT_EQ(stats().parses, 1u);
  EXPECT_EQ(stats().hits, 1u);
  ASSERT_EQ(kmgr_unload(kmgr_, a), NRT_SUCCESS);
  ASSERT_EQ(kmgr_unload(kmgr_, b), NRT_SUCCESS);
  ASSERT_EQ(load(file_, 0, &c), NRT_SUCCESS);
  EXPECT_EQ(stats().parses, 2u);
}

TEST_F(Kmgr, SameUuidOtherContentIsNotMixedUp) {
  log_capture log("WARN");
  H_NN a = 0, b = 0;
  ASSERT_EQ(load(file_, 0, &a), NRT_SUCCESS);
  ASSERT_EQ(load(fake_file("cayman 1", 1), 0, &b), NRT_SUCCESS);
  kmgr_model_t *model = kmgr_model_get(kmgr_, b);
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(model->nn->kbins.size(), 1u);
  kmgr_model_put(kmgr_, model);
  EXPECT_EQ(stats().conflicts, 1u);
  EXPECT_EQ(log.lines(NLOG_LEVEL_WARN).size(), 1u);
}

TEST_F(Kmgr, TheFileMayGoAwayAfterTheLoad) {
  H_NN h_nn = 0;
  {
    std::vector<uint8_t> copy = file_;
    ASSERT_EQ(load(copy, 0, &h_nn), NRT_SUCCESS);
    std::fill(copy.begin(), copy.end(), 0xAA);
  }
  H_NN again = 0;
  EXPECT_EQ(load(file_, 1, &again), NRT_SUCCESS);
  EXPECT_EQ(stats().hits, 1u);
}

TEST_F(Kmgr, LoadsOnDifferentCoresRunSideBySide) {
  // Both placements have to be inside at once to get past the barrier.
  std::barrier meet(2);
  fake.on_stage = [&](vcore_t *) {
    meet.arrive_and_wait();
    return NRT_SUCCESS;
  };
  H_NN a = 0, b = 0;
  {
    std::jthread other([&] { EXPECT_EQ(load(file_, -1, &a), NRT_SUCCESS); });
    EXPECT_EQ(load(fake_file("cayman 1", 2), -1, &b), NRT_SUCCESS);
  }
  EXPECT_NE(vnc_of(a), vnc_of(b));  // loads under way count
}

TEST_F(Kmgr, UnloadWaitsForTheUsersOfTheModel) {
  H_NN h_nn = 0;
  ASSERT_EQ(load(file_, 0, &h_nn), NRT_SUCCESS);
  kmgr_model_t *model = kmgr_model_get(kmgr_, h_nn);
  ASSERT_NE(model, nullptr);
  std::jthread unloader([&] { EXPECT_EQ(kmgr_unload(kmgr_, h_nn), NRT_SUCCESS); });
  while (!models().empty())
    std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(fake.placements, 1);  // still placed
  EXPECT_EQ(kmgr_unload(kmgr_, h_nn), NRT_INVALID_HANDLE);
  kmgr_model_put(kmgr_, model);
  unloader.join();
  EXPECT_EQ(fake.placements, 0);
}

TEST_F(Kmgr, DestroyUnloadsNewestFirst) {
  H_NN h_nn = 0;
  for (int32_t vnc : {3, 1, 2})
    ASSERT_EQ(load(file_, vnc, &h_nn), NRT_SUCCESS);
  kmgr_destroy(kmgr_);
  kmgr_ = nullptr;
  EXPECT_THAT(fake.unstaged, ElementsAre(2, 1, 3));
}

TEST_F(Kmgr, SixteenThreadsLoadAndUnload) {
  std::vector<std::vector<uint8_t>> files;
  for (uint8_t i = 0; i < 3; i++)
    files.push_back(fake_file("cayman 2", i));
  std::vector<std::jthread> threads;
  for (int t = 0; t < 16; t++)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 60; i++) {
        H_NN h_nn = 0;
        ASSERT_EQ(load(files[static_cast<size_t>(t + i) % 3], i % 2 == 0 ? -1 : t % 4, &h_nn),
                  NRT_SUCCESS);
        kmgr_model_t *model = kmgr_model_get(kmgr_, h_nn);
        ASSERT_NE(model, nullptr);
        EXPECT_EQ(model->h_nn, h_nn);
        kmgr_model_put(kmgr_, model);
        EXPECT_EQ(kmgr_unload(kmgr_, h_nn), NRT_SUCCESS);
      }
    });
  threads.clear();
  EXPECT_THAT(models(), ElementsAre());
  EXPECT_EQ(fake.placements, 0);
  EXPECT_EQ(stats().parses + stats().hits, 16u * 60u);
}
