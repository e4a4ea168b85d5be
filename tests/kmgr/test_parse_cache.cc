// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "kmgr/parse_cache.h"
#include "tests/kmgr/log_capture.h"

using testing::ElementsAre;
using testing::HasSubstr;

namespace {

parse_key_t key(uint8_t uuid, uint8_t content) {
  parse_key_t k;
  k.uuid.fill(uuid);
  k.digest.fill(content);
  return k;
}

NRT_STATUS make_nn(std::shared_ptr<const kelf_nn_t> *out) {
  *out = std::make_shared<kelf_nn_t>();
  return NRT_SUCCESS;
}

NRT_STATUS must_not_run(std::shared_ptr<const kelf_nn_t> *) {
  ADD_FAILURE() << "parsed although the slot had the result";
  return NRT_FAILURE;
}

kmgr_cache_stats_t stats(parse_cache &cache) {
  kmgr_cache_stats_t s;
  cache.stats(&s);
  return s;
}

void wait_for_references(parse_cache &cache, uint32_t wanted) {
  while (cache.references() != wanted)
    std::this_thread::yield();
}

}  // namespace

TEST(ParseCache, KeyIsSha256OfTheFile) {
  const uint8_t uuid[16] = {1, 2, 3};
  const uint8_t abc[] = {'a', 'b', 'c'};
  parse_key_t k = parse_key_make(uuid, abc);
  EXPECT_EQ(k.uuid[2], 3);
  // FIPS 180-2, appendix B.1.
  const std::array<uint8_t, 32> expected = {0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea,
                                            0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23,
                                            0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c,
                                            0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad};
  EXPECT_EQ(k.digest, expected);
}

TEST(ParseCache, FirstCreatesSecondReusesLastReferenceEmptiesTheSlot) {
  parse_cache cache;
  parse_key_t k = key(1, 1);
  EXPECT_EQ(cache.state(), parse_state_t::UNINIT);
  {
    parse_lease first, second;
    ASSERT_EQ(cache.acquire(k, make_nn, &first), NRT_SUCCESS);
    EXPECT_EQ(cache.state(), parse_state_t::READY);
    EXPECT_FALSE(first.reused());
    ASSERT_EQ(cache.acquire(k, must_not_run, &second), NRT_SUCCESS);
    EXPECT_TRUE(second.reused());
    EXPECT_EQ(first.nn(), second.nn());
    EXPECT_EQ(cache.references(), 2u);
    first = parse_lease();
    EXPECT_EQ(cache.references(), 1u);
    EXPECT_EQ(cache.state(), parse_state_t::READY);
  }
  EXPECT_EQ(cache.state(), parse_state_t::UNINIT);
  EXPECT_EQ(cache.references(), 0u);
  EXPECT_EQ(stats(cache).parses, 1u);
  EXPECT_EQ(stats(cache).hits, 1u);

  // Empty again: the next load parses anew.
  parse_lease third;
  ASSERT_EQ(cache.acquire(k, make_nn, &third), NRT_SUCCESS);
  EXPECT_EQ(stats(cache).parses, 2u);
}

TEST(ParseCache, TheSlotLetsGoOfItsResult) {
  parse_cache cache;
  parse_key_t k = key(1, 1);
  std::weak_ptr<const kelf_nn_t> watch;
  {
    parse_lease lease;
    ASSERT_EQ(cache.acquire(k, make_nn, &lease), NRT_SUCCESS);
    watch = lease.nn();
  }
  EXPECT_TRUE(watch.expired());
}

TEST(ParseCache, LoadersOfTheSameFileWaitForTheFirst) {
  parse_cache cache;
  parse_key_t k = key(1, 1);
  constexpr uint32_t kThreads = 8;
  std::atomic<int> parses{0};
  auto slow = [&](std::shared_ptr<const kelf_nn_t> *out) {
    parses++;
    EXPECT_EQ(cache.state(), parse_state_t::PENDING);
    wait_for_references(cache, kThreads);  // everybody else has arrived and waits
    return make_nn(out);
  };
  std::array<parse_lease, kThreads> leases;
  std::vector<std::jthread> threads;
  for (uint32_t i = 0; i < kThreads; i++)
    threads.emplace_back([&, i] { EXPECT_EQ(cache.acquire(k, slow, &leases[i]), NRT_SUCCESS); });
  threads.clear();
  EXPECT_EQ(parses, 1);
  EXPECT_EQ(stats(cache).parses, 1u);
  EXPECT_EQ(stats(cache).hits, kThreads - 1);
  for (const parse_lease &lease : leases)
    EXPECT_EQ(lease.nn(), leases[0].nn());
  for (parse_lease &lease : leases)
    lease = parse_lease();
  EXPECT_EQ(cache.state(), parse_state_t::UNINIT);
}

TEST(ParseCache, WaitersParseAloneWhenTheFirstFails) {
  parse_cache cache;
  parse_key_t k = key(1, 1);
  std::atomic<int> alone{0};
  std::vector<std::jthread> waiters;
  parse_lease first;
  NRT_STATUS status = cache.acquire(
      k,
      [&](std::shared_ptr<const kelf_nn_t> *) {
        for (int i = 0; i < 3; i++)
          waiters.emplace_back([&] {
            parse_lease lease;
            EXPECT_EQ(cache.acquire(
                          k,
                          [&](std::shared_ptr<const kelf_nn_t> *out) {
                            alone++;
                            return make_nn(out);
                          },
                          &lease),
                      NRT_SUCCESS);
            EXPECT_FALSE(lease.reused());
            EXPECT_NE(lease.nn(), nullptr);
          });
        wait_for_references(cache, 4);
        return NRT_UNSUPPORTED_NEFF_VERSION;
      },
      &first);
  waiters.clear();
  EXPECT_EQ(status, NRT_UNSUPPORTED_NEFF_VERSION);
  EXPECT_EQ(first.nn(), nullptr);
  EXPECT_EQ(alone, 3);
  EXPECT_EQ(stats(cache).parses, 4u);
  EXPECT_EQ(stats(cache).hits, 0u);
  EXPECT_EQ(cache.state(), parse_state_t::UNINIT);
}

TEST(ParseCache, AThrowingParserWakesTheWaiters) {
  parse_cache cache;
  parse_key_t k = key(1, 1);
  std::jthread waiter;
  parse_lease first, second;
  EXPECT_THROW((void)cache.acquire(
                   k,
                   [&](std::shared_ptr<const kelf_nn_t> *) -> NRT_STATUS {
                     waiter = std::jthread(
                         [&] { EXPECT_EQ(cache.acquire(k, make_nn, &second), NRT_SUCCESS); });
                     wait_for_references(cache, 2);
                     throw std::bad_alloc();
                   },
                   &first),
               std::bad_alloc);
  waiter.join();
  EXPECT_NE(second.nn(), nullptr);
  EXPECT_EQ(cache.references(), 0u);
  EXPECT_EQ(cache.state(), parse_state_t::UNINIT);
}

TEST(ParseCache, AnotherUuidParsesAloneAndDisturbsNothing) {
  parse_cache cache;
  parse_key_t a = key(1, 1), b = key(2, 2);
  parse_lease first, other, again;
  ASSERT_EQ(cache.acquire(a, make_nn, &first), NRT_SUCCESS);
  ASSERT_EQ(cache.acquire(b, make_nn, &other), NRT_SUCCESS);
  EXPECT_NE(other.nn(), first.nn());
  EXPECT_FALSE(other.reused());
  EXPECT_EQ(cache.references(), 1u);
  ASSERT_EQ(cache.acquire(a, must_not_run, &again), NRT_SUCCESS);
  EXPECT_EQ(again.nn(), first.nn());
  EXPECT_EQ(stats(cache).conflicts, 0u);
}

TEST(ParseCache, AnotherUuidDoesNotWaitForASlowParse) {
  parse_cache cache;
  parse_key_t a = key(1, 1), b = key(2, 2);
  parse_lease first, other;
  ASSERT_EQ(cache.acquire(
                a,
                [&](std::shared_ptr<const kelf_nn_t> *out) {
                  // Would hang here if it waited.
                  EXPECT_EQ(cache.acquire(b, make_nn, &other), NRT_SUCCESS);
                  return make_nn(out);
                },
                &first),
            NRT_SUCCESS);
  EXPECT_NE(first.nn(), other.nn());
}

TEST(ParseCache, SameUuidOtherContentParsesAloneAndWarns) {
  parse_cache cache;
  log_capture log("WARN");
  parse_key_t a = key(1, 1), b = key(1, 2);
  parse_lease first, other;
  ASSERT_EQ(cache.acquire(a, make_nn, &first), NRT_SUCCESS);
  ASSERT_EQ(cache.acquire(b, make_nn, &other), NRT_SUCCESS);
  EXPECT_NE(first.nn(), other.nn());
  EXPECT_EQ(stats(cache).conflicts, 1u);
  EXPECT_EQ(stats(cache).hits, 0u);
  EXPECT_THAT(log.lines(NLOG_LEVEL_WARN), ElementsAre(HasSubstr("UUID")));
  EXPECT_THAT(log.errors(), ElementsAre());
}

TEST(ParseCache, ManyThreadsComeAndGo) {
  parse_cache cache;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 16; t++)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; i++) {
        parse_key_t k = key(static_cast<uint8_t>((t + i) % 3), 1);
        bool fails = i % 7 == 3;
        parse_lease lease;
        NRT_STATUS status = cache.acquire(
            k,
            [&](std::shared_ptr<const kelf_nn_t> *out) {
              return fails ? NRT_INVALID : make_nn(out);
            },
            &lease);
        EXPECT_EQ(status == NRT_SUCCESS, lease.nn() != nullptr);
        if (!fails) {
          EXPECT_EQ(status, NRT_SUCCESS);
        }
      }
    });
  threads.clear();
  EXPECT_EQ(cache.references(), 0u);
  EXPECT_EQ(cache.state(), parse_state_t::UNINIT);
  EXPECT_EQ(stats(cache).parses + stats(cache).hits, 16u * 200u);
}
