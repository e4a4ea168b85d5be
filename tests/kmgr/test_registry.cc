// SPDX-License-Identifier: Apache-2.0
#include "kmgr/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

using testing::ElementsAre;

namespace {

kmgr_entry_t *add(kmgr_registry &registry, uint32_t models = 1) {
  auto entry = std::make_unique<kmgr_entry_t>();
  kmgr_entry_t *raw = entry.get();
  registry.reserve(raw, models);
  registry.add(entry);
  EXPECT_EQ(entry, nullptr);
  return raw;
}

void remove(kmgr_registry &registry, H_NN h_nn) {
  kmgr_entry_t *entry = registry.remove_begin(h_nn);
  ASSERT_NE(entry, nullptr);
  EXPECT_EQ(registry.remove_end(entry)->h_nn, h_nn);
}

std::vector<H_NN> list(kmgr_registry &registry) {
  std::vector<H_NN> out(16);
  out.resize(registry.list(out.data(), out.size()));
  return out;
}

}  // namespace

TEST(Registry, NumbersCountUpAndAreNotReused) {
  kmgr_registry registry;
  kmgr_entry_t *a = add(registry, 2);
  kmgr_entry_t *b = add(registry, 1);
  EXPECT_EQ(a->h_nn, 10001u);
  EXPECT_THAT(a->h_models, ElementsAre(1001, 1002));
  EXPECT_EQ(b->h_nn, 10002u);
  EXPECT_THAT(b->h_models, ElementsAre(1003, 0));
  remove(registry, 10001);
  kmgr_entry_t *c = add(registry, 2);
  EXPECT_EQ(c->h_nn, 10003u);
  EXPECT_THAT(c->h_models, ElementsAre(1004, 1005));
  EXPECT_THAT(list(registry), ElementsAre(10002, 10003));
}

TEST(Registry, WrapSkipsLiveNumbers) {
  kmgr_registry registry(UINT32_MAX - 1, UINT32_MAX);
  kmgr_entry_t *a = add(registry, 2);
  EXPECT_EQ(a->h_nn, UINT32_MAX - 1);
  EXPECT_THAT(a->h_models, ElementsAre(UINT32_MAX, 1001));
  kmgr_entry_t *b = add(registry);
  EXPECT_EQ(b->h_nn, UINT32_MAX);
  EXPECT_THAT(b->h_models, ElementsAre(1002, 0));
  kmgr_entry_t *c = add(registry);
  EXPECT_EQ(c->h_nn, 10001u);  // wrapped
  EXPECT_EQ(registry.newest(), 10001u);
}

TEST(Registry, FullTurnStepsOverNumbersInUse) {
  kmgr_registry registry(10001, 1001);
  add(registry, 1);  // 10001 / 1001
  kmgr_entry_t *second = add(registry, 1);
  EXPECT_EQ(second->h_nn, 10002u);
  registry.set_next(UINT32_MAX, UINT32_MAX);
  EXPECT_EQ(add(registry, 1)->h_nn, UINT32_MAX);
  kmgr_entry_t *wrapped = add(registry, 1);
  EXPECT_EQ(wrapped->h_nn, 10003u);
  EXPECT_EQ(wrapped->h_models[0], 1003u);
}

TEST(Registry, FindsTheModelOfACoreRecord) {
  kmgr_registry registry;
  kmgr_entry_t *a = add(registry, 2);
  H_NN h_nn = 0;
  uint32_t subgraph = 9;
  ASSERT_TRUE(registry.find_h_model(a->h_models[1], &h_nn, &subgraph));
  EXPECT_EQ(h_nn, a->h_nn);
  EXPECT_EQ(subgraph, 1u);
  H_MODEL gone = a->h_models[1];
  remove(registry, h_nn);
  EXPECT_FALSE(registry.find_h_model(gone, &h_nn, &subgraph));
  EXPECT_FALSE(registry.find_h_model(0, &h_nn, &subgraph));
}

TEST(Registry, NumbersOfALoadUnderWay) {
  kmgr_registry registry;
  kmgr_entry_t failed;
  registry.reserve(&failed, 2);
  EXPECT_THAT(failed.h_models, ElementsAre(1001, 1002));
  H_NN h_nn = 0;
  uint32_t subgraph = 0;
  EXPECT_FALSE(registry.find_h_model(1001, &h_nn, &subgraph));  // of no model yet
  EXPECT_EQ(registry.newest(), 0u);
  registry.set_next(10001, 1001);
  kmgr_entry_t *loaded = add(registry, 1);
  EXPECT_THAT(loaded->h_models, ElementsAre(1003, 0));  // taken all the same
  registry.cancel(&failed);
  registry.set_next(10002, 1001);
  EXPECT_THAT(add(registry, 2)->h_models, ElementsAre(1001, 1002));
  ASSERT_TRUE(registry.find_h_model(1003, &h_nn, &subgraph));
  EXPECT_EQ(h_nn, loaded->h_nn);
}

TEST(Registry, ListCountsBeyondItsCapacity) {
  kmgr_registry registry;
  for (int i = 0; i < 3; i++)
    add(registry);
  H_NN two[2] = {};
  EXPECT_EQ(registry.list(two, 2), 3u);
  EXPECT_THAT(two, ElementsAre(10001, 10002));
  EXPECT_EQ(registry.list(nullptr, 0), 3u);
}

TEST(Registry, NewestIsTheLastOneAdded) {
  kmgr_registry registry;
  EXPECT_EQ(registry.newest(), 0u);
  add(registry);
  add(registry);
  EXPECT_EQ(registry.newest(), 10002u);
  remove(registry, 10002);
  EXPECT_EQ(registry.newest(), 10001u);
}

TEST(Registry, RemovalWaitsForUsers) {
  kmgr_registry registry;
  add(registry);
  kmgr_entry_t *used = registry.get(10001);
  ASSERT_NE(used, nullptr);
  ASSERT_EQ(registry.get(10001), used);
  std::atomic<bool> removed{false};
  std::jthread remover([&] {
    kmgr_entry_t *entry = registry.remove_begin(10001);
    removed = true;
    registry.remove_end(entry);
  });
  while (!list(registry).empty())
    std::this_thread::yield();
  // Leaving: not found any more, and nobody else can remove it.
  EXPECT_EQ(registry.get(10001), nullptr);
  EXPECT_EQ(registry.remove_begin(10001), nullptr);
  registry.put(used);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(removed);  // one user left
  registry.put(used);
  remover.join();
  EXPECT_TRUE(removed);
  EXPECT_EQ(registry.get(10001), nullptr);
}

TEST(Registry, UnknownNumbers) {
  kmgr_registry registry;
  EXPECT_EQ(registry.get(0), nullptr);
  EXPECT_EQ(registry.get(10001), nullptr);
  EXPECT_EQ(registry.remove_begin(10001), nullptr);
}
