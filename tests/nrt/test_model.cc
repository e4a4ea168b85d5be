// SPDX-License-Identifier: Apache-2.0
// nrt-api.md 5.1: loading, describing and unloading models.
#include <atomic>
#include <cstring>
#include <set>
#include <thread>

#include "nrt_test.h"

using Model = NrtTest;

namespace {

size_t device_bytes(uint32_t vnc) {
  nrt_vnc_memory_stats_t stats{};
  size_t written = 0;
  EXPECT_EQ(NRT_SUCCESS, nrt_get_vnc_memory_stats(vnc, &stats, sizeof(stats), &written));
  return stats.bytes_used;
}

}  // namespace

TEST_F(Model, LoadDescribeUnload) {
  std::vector<uint8_t> neff = sample_neff();
  ASSERT_FALSE(neff.empty());
  size_t before = device_bytes(2);
  nrt_model_t *model = nullptr;
  EXPECT_QUIET(NRT_SUCCESS, nrt_load(neff.data(), neff.size(), 2, -1, &model));
  EXPECT_GT(device_bytes(2), before);
  std::fill(neff.begin(), neff.end(), 0);  // the bytes are no longer needed

  uint32_t count = 0;
  EXPECT_QUIET(NRT_SUCCESS, nrt_get_model_vnc_count(model, &count));
  EXPECT_EQ(1u, count);
  EXPECT_QUIET(NRT_SUCCESS, nrt_get_model_nc_count(model, &count));
  EXPECT_EQ(1u, count);
  EXPECT_QUIET(NRT_SUCCESS, nrt_get_model_instance_count(model, &count));
  EXPECT_EQ(1u, count);
  nrt_model_info_t info{77};
  size_t written = 0;
  EXPECT_QUIET(NRT_SUCCESS, nrt_get_model_info(model, &info, sizeof(info), &written));
  EXPECT_EQ(2u, info.vnc);
  EXPECT_EQ(4u, written);
  EXPECT_QUIET(NRT_SUCCESS, nrt_get_model_info(model, &info, 4096, &written));  // a newer client
  EXPECT_EQ(4u, written);
  EXPECT_REFUSED(NRT_INVALID, nrt_get_model_info(model, &info, 3, &written));
  EXPECT_REFUSED(NRT_INVALID, nrt_get_model_info(model, nullptr, 4, &written));

  nrt_tensor_info_array_t *tensors = nullptr;
  EXPECT_QUIET(NRT_SUCCESS, nrt_get_model_tensor_info(model, &tensors));
  ASSERT_NE(nullptr, tensors);
  bool outputs = false;
  std::set<std::string> names[2];
  for (uint64_t i = 0; i < tensors->tensor_count; ++i) {
    const nrt_tensor_info_t &t = tensors->tensor_array[i];
    outputs |= t.usage == NRT_TENSOR_USAGE_OUTPUT;
    EXPECT_EQ(outputs, t.usage == NRT_TENSOR_USAGE_OUTPUT) << "inputs come before outputs";
    EXPECT_TRUE(names[t.usage].insert(t.name).second) << t.name;
    EXPECT_GT(t.size, 0u);
  }
  EXPECT_FALSE(names[0].empty());
  EXPECT_FALSE(names[1].empty());

  EXPECT_QUIET(NRT_SUCCESS, nrt_unload(model));
  EXPECT_EQ(before, device_bytes(2));
  EXPECT_REFUSED(NRT_INVALID_HANDLE, nrt_unload(model));
  EXPECT_REFUSED(NRT_INVALID_HANDLE, nrt_get_model_vnc_count(model, &count));
  EXPECT_REFUSED(NRT_INVALID_HANDLE, nrt_get_model_tensor_info(model, &tensors + 0));
  EXPECT_EQ(nullptr, tensors);
  EXPECT_REFUSED(NRT_INVALID, nrt_unload(nullptr));
}

TEST_F(Model, TensorInfoIsFreedOnce) {
  std::vector<uint8_t> neff = sample_neff();
  nrt_model_t *model = nullptr;
  ASSERT_EQ(NRT_SUCCESS, nrt_load(neff.data(), neff.size(), -1, -1, &model));
  nrt_tensor_info_array_t *tensors = nullptr;
  ASSERT_EQ(NRT_SUCCESS, nrt_get_model_tensor_info(model, &tensors));
  ASSERT_EQ(NRT_SUCCESS, nrt_unload(model));
  EXPECT_STRNE("", tensors->tensor_array[0].name);  // independent of the model
  EXPECT_QUIET(NRT_SUCCESS, nrt_free_model_tensor_info(tensors));
  EXPECT_REFUSED(NRT_INVALID, nrt_free_model_tensor_info(tensors));
  EXPECT_QUIET(NRT_SUCCESS, nrt_free_model_tensor_info(nullptr));
}

TEST_F(Model, BadInput) {
  std::vector<uint8_t> neff = sample_neff();
  nrt_model_t *model = reinterpret_cast<nrt_model_t *>(16);
  EXPECT_REFUSED(NRT_INVALID, nrt_load(nullptr, 5, -1, -1, &model));
  EXPECT_EQ(nullptr, model);
  EXPECT_REFUSED(NRT_INVALID, nrt_load(neff.data(), 0, -1, -1, &model));
  EXPECT_REFUSED(NRT_INVALID, nrt_load(neff.data(), neff.size(), 4, -1, &model));
  EXPECT_REFUSED(NRT_INVALID, nrt_load(neff.data(), neff.size(), -2, -1, &model));
  EXPECT_REFUSED(NRT_INVALID, nrt_load(neff.data(), neff.size(), 0, -1, nullptr));
  for (size_t size : {size_t{1}, size_t{1023}, size_t{1024}, neff.size() / 2, neff.size() - 1}) {
    SCOPED_TRACE(size);
    EXPECT_REFUSED(NRT_INVALID, nrt_load(neff.data(), size, 0, -1, &model));
  }
  std::vector<uint8_t> other = neff;
  other[544 + 4] = 0x01;  // feature bit 32
  EXPECT_REFUSED(NRT_UNSUPPORTED_NEFF_VERSION, nrt_load(other.data(), other.size(), 0, -1, &model));
  EXPECT_EQ(nullptr, model);
  // What fails leaves what works alone.
  size_t before = device_bytes(0);
  EXPECT_QUIET(NRT_SUCCESS, nrt_load(neff.data(), neff.size(), 0, -1, &model));
  EXPECT_QUIET(NRT_SUCCESS, nrt_unload(model));
  EXPECT_EQ(before, device_bytes(0));
}

TEST_F(Model, Collectives) {
  std::vector<uint8_t> neff = sample_neff();
  nrt_model_t *model = nullptr;
  EXPECT_QUIET(NRT_SUCCESS, nrt_load_collectives(neff.data(), neff.size(), 1, -1, 0, 1, &model));
  EXPECT_QUIET(NRT_SUCCESS, nrt_unload(model));
  EXPECT_REFUSED(NRT_INVALID, nrt_load_collectives(neff.data(), neff.size(), 1, -1, 0, 2, &model));
  EXPECT_REFUSED(NRT_INVALID, nrt_load_collectives(neff.data(), neff.size(), 1, -1, 1, 1, &model));
  EXPECT_REFUSED(NRT_INVALID, nrt_load_collectives(neff.data(), neff.size(), 1, -1, 0, 0, &model));
}

// -1 spreads over the logical cores.
TEST_F(Model, LibraryPicksTheCore) {
  std::vector<uint8_t> neff = sample_neff();
  std::set<uint32_t> cores;
  for (int i = 0; i < 4; ++i) {
    nrt_model_t *model = nullptr;
    ASSERT_EQ(NRT_SUCCESS, nrt_load(neff.data(), neff.size(), -1, 1, &model));
    nrt_model_info_t info{};
    size_t written = 0;
    ASSERT_EQ(NRT_SUCCESS, nrt_get_model_info(model, &info, sizeof(info), &written));
    cores.insert(info.vnc);
  }
  EXPECT_EQ(4u, cores.size());
  // nrt_close, in TearDown, unloads them.
}

TEST_F(Model, SixteenThreads) {
  std::vector<uint8_t> neff = sample_neff();
  size_t before[4];
  for (uint32_t vnc = 0; vnc < 4; ++vnc)
    before[vnc] = device_bytes(vnc);
  std::atomic<int> loads{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 8; ++round) {
        nrt_model_t *model = nullptr;
        ASSERT_EQ(NRT_SUCCESS,
                  nrt_load(neff.data(), neff.size(), round % 2 == 0 ? i % 4 : -1, -1, &model));
        nrt_tensor_info_array_t *tensors = nullptr;
        ASSERT_EQ(NRT_SUCCESS, nrt_get_model_tensor_info(model, &tensors));
        ASSERT_GT(tensors->tensor_count, 1u);
        ASSERT_EQ(NRT_SUCCESS, nrt_free_model_tensor_info(tensors));
        ASSERT_EQ(NRT_SUCCESS, nrt_unload(model));
        ++loads;
      }
    });
  }
  for (std::thread &t : threads)
    t.join();
  EXPECT_EQ(128, loads);
  for (uint32_t vnc = 0; vnc < 4; ++vnc)
    EXPECT_EQ(before[vnc], device_bytes(vnc));
}

// Two threads give the same model back: one wins, nothing breaks.
TEST_F(Model, UnloadRace) {
  std::vector<uint8_t> neff = sample_neff();
  for (int round = 0; round < 10; ++round) {
    nrt_model_t *model = nullptr;
    ASSERT_EQ(NRT_SUCCESS, nrt_load(neff.data(), neff.size(), 0, -1, &model));
    std::atomic<int> wins{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        NRT_STATUS status = nrt_unload(model);
        EXPECT_TRUE(status == NRT_SUCCESS || status == NRT_INVALID_HANDLE) << status;
        wins += status == NRT_SUCCESS;
      });
    }
    for (std::thread &t : threads)
      t.join();
    EXPECT_EQ(1, wins);
  }
}
