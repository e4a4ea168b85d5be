// SPDX-License-Identifier: Apache-2.0
// nrt-api.md 5.3, 5.4: runs as a client sees them, on matmul_small.neff: out[128, 128] =
// x[128, 256] @ y[256, 128], fp16.
#include <atomic>
#include <cmath>
#include <thread>

#include "nrt_test.h"
#include "tests/reference/floats.h"
#include "tests/support/corpus.h"

namespace {

constexpr size_t kXBytes = 128 * 256 * 2, kYBytes = 256 * 128 * 2, kOutBytes = 128 * 128 * 2;
constexpr nrt_tensor_placement_t kDevice = NRT_TENSOR_PLACEMENT_DEVICE,
                                 kVirtual = NRT_TENSOR_PLACEMENT_VIRTUAL;

// x is `scale` times the identity on its first 128 columns, so out is scale times the first 128
// rows of y, exactly.
std::vector<uint16_t> scaled_identity(double scale) {
  std::vector<uint16_t> x(128 * 256, 0);
  for (size_t i = 0; i < 128; ++i)
    x[i * 256 + i] = fp16_bits(scale);
  return x;
}
double y_value(size_t row, size_t column, unsigned seed) {
  return static_cast<double>((row * 31 + column * 7 + seed * 13) % 97) - 48;
}
std::vector<uint16_t> y_values(unsigned seed) {
  std::vector<uint16_t> y(256 * 128);
  for (size_t row = 0; row < 256; ++row) {
    for (size_t column = 0; column < 128; ++column)
      y[row * 128 + column] = fp16_bits(y_value(row, column, seed));
  }
  return y;
}
size_t wrong(const std::vector<uint16_t> &out, double scale, unsigned seed) {
  size_t count = 0;
  for (size_t row = 0; row < 128; ++row) {
    for (size_t column = 0; column < 128; ++column)
      count += fp16_value(out[row * 128 + column]) != scale * y_value(row, column, seed);
  }
  return count;
}

// A pair of sets with their tensors.
struct sets_t {
  explicit sets_t(nrt_tensor_placement_t placement = kDevice, int vnc = 0) {
    auto make = [&](size_t size) {
      nrt_tensor_t *tensor = nullptr;
      EXPECT_EQ(NRT_SUCCESS, nrt_tensor_allocate(placement, placement == kVirtual ? -1 : vnc, size,
                                                 nullptr, &tensor));
      return tensor;
    };
    x = make(kXBytes);
    y = make(kYBytes);
    out = make(kOutBytes);
    EXPECT_EQ(NRT_SUCCESS, nrt_allocate_tensor_set(&in));
    EXPECT_EQ(NRT_SUCCESS, nrt_allocate_tensor_set(&outs));
    put(in, "x", x);
    put(in, "y", y);
    put(outs, "output0", out);
  }
  ~sets_t() {
    nrt_destroy_tensor_set(&in);
    nrt_destroy_tensor_set(&outs);
    for (nrt_tensor_t **tensor : {&x, &y, &out})
      nrt_tensor_free(tensor);
  }
  sets_t(const sets_t &) = delete;
  sets_t &operator=(const sets_t &) = delete;

  static void put(nrt_tensor_set_t *set, const char *name, nrt_tensor_t *tensor) {
    EXPECT_EQ(NRT_SUCCESS, nrt_add_tensor_to_tensor_set(set, name, tensor));
  }
  void fill(double scale, unsigned seed) const {
    std::vector<uint16_t> left = scaled_identity(scale), right = y_values(seed);
    EXPECT_EQ(NRT_SUCCESS, nrt_tensor_write(x, left.data(), 0, kXBytes));
    EXPECT_EQ(NRT_SUCCESS, nrt_tensor_write(y, right.data(), 0, kYBytes));
    EXPECT_EQ(NRT_SUCCESS, nrt_tensor_memset(out, 0, 0xFF, kOutBytes));
  }
  size_t wrong_elements(double scale, unsigned seed) const {
    std::vector<uint16_t> result(128 * 128);
    EXPECT_EQ(NRT_SUCCESS, nrt_tensor_read(out, result.data(), 0, kOutBytes));
    return wrong(result, scale, seed);
  }
  void expect_right(nrt_model_t *model, double scale, unsigned seed) const {
    fill(scale, seed);
    ASSERT_EQ(NRT_SUCCESS, nrt_execute(model, in, outs));
    EXPECT_EQ(0u, wrong_elements(scale, seed));
  }
  nrt_tensor_t *x = nullptr, *y = nullptr, *out = nullptr;
  nrt_tensor_set_t *in = nullptr, *outs = nullptr;
};

class Run : public NrtTest {
 protected:
  void SetUp() override {
    neff = corpus_file("matmul_small.neff");
    if (neff.empty()) {
      printf("skipped: no corpus\n");
      GTEST_SKIP() << "skipped: no corpus";
    }
    NrtTest::SetUp();
  }
  nrt_model_t *load(int vnc = 0) {
    nrt_model_t *model = nullptr;
    EXPECT_EQ(NRT_SUCCESS, nrt_load(neff.data(), neff.size(), vnc, -1, &model));
    return model;
  }
  std::vector<uint8_t> neff;
};

}  // namespace

TEST_F(Run, DeviceAndHostTensors) {
  nrt_model_t *model = load();
  for (nrt_tensor_placement_t placement : {kDevice, kVirtual}) {
    sets_t sets(placement);
    sets.expect_right(model, 2, 1);
    sets.expect_right(model, 0.5, 2);
  }
  sets_t device, host(kVirtual);
  // Mixed, in turns with others.
  for (unsigned seed = 1; seed < 4; ++seed) {
    sets_t mixed(kVirtual);
    sets_t::put(mixed.in, "x", device.x);
    device.fill(4, seed);
    mixed.fill(0, seed);
    ASSERT_EQ(NRT_SUCCESS, nrt_execute(model, mixed.in, mixed.outs));
    EXPECT_EQ(0u, mixed.wrong_elements(4, seed));
    host.expect_right(model, 1, seed + 7);
  }
}

TEST_F(Run, AttachedBuffersAndSlices) {
  nrt_model_t *model = load();
  sets_t sets;
  std::vector<uint16_t> x = scaled_identity(3), out(128 * 128 + 64, 0x1234);
  nrt_tensor_t *attached = nullptr, *big = nullptr, *slice = nullptr, *result = nullptr;
  ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate_empty("x", &attached));
  ASSERT_EQ(NRT_SUCCESS, nrt_tensor_attach_buffer(attached, x.data(), kXBytes));
  ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(kDevice, 0, kYBytes + 4096, "big", &big));
  ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate_slice(big, 1024, kYBytes, "y", &slice));
  ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate_empty("out", &result));
  ASSERT_EQ(NRT_SUCCESS, nrt_tensor_attach_buffer(result, out.data(), out.size() * 2));
  std::vector<uint16_t> y = y_values(5);
  ASSERT_EQ(NRT_SUCCESS, nrt_tensor_write(slice, y.data(), 0, kYBytes));
  sets_t::put(sets.in, "x", attached);
  sets_t::put(sets.in, "y", slice);
  sets_t::put(sets.outs, "output0", result);
  EXPECT_QUIET(NRT_SUCCESS, nrt_execute(model, sets.in, sets.outs));
  EXPECT_EQ(0u, wrong(out, 3, 5));
  // A tensor may be larger than the model's; what is beyond stays as it was.
  for (size_t i = 128 * 128; i < out.size(); ++i)
    EXPECT_EQ(0x1234, out[i]);
  for (nrt_tensor_t **tensor : {&attached, &slice, &big, &result})
    nrt_tensor_free(tensor);
}

TEST_F(Run, PlacementAtBind) {
  nrt_close();
  scoped_env bind("NEURON_RT_IO_PLACEMENT", "bind");
  ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
  nrt_model_t *model = load();
  sets_t device, host(kVirtual);
  host.expect_right(model, 2, 1);
  device.expect_right(model, 4, 2);
  host.expect_right(model, 8, 3);
}

// Asked for runs that overlap: a warning, and runs that are over when the call returns.
TEST_F(Run, AsynchronousExecutionIsNotThere) {
  nrt_close();
  {
    scoped_env bad("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS", "many");
    EXPECT_REFUSED(NRT_INVALID, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
  }
  scoped_env level("NEURON_RT_LOG_LEVEL", "WARN");
  scoped_env async("NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS", "4");
  size_t before = test_log().lines("WARN").size();
  ASSERT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
  ASSERT_EQ(before + 1, test_log().lines("WARN").size());
  nrt_model_t *model = load();
  sets_t sets;
  sets.expect_right(model, 2, 1);
}

TEST_F(Run, SetsAreChecked) {
  nrt_model_t *model = load();
  sets_t sets;
  sets.fill(1, 1);
  nrt_tensor_set_t *empty = nullptr;
  ASSERT_EQ(NRT_SUCCESS, nrt_allocate_tensor_set(&empty));
  EXPECT_REFUSED(NRT_INVALID, nrt_execute(model, empty, sets.outs));
  EXPECT_REFUSED(NRT_INVALID, nrt_execute(model, sets.in, empty));
  EXPECT_REFUSED(NRT_INVALID, nrt_execute(model, nullptr, sets.outs));
  EXPECT_REFUSED(NRT_INVALID, nrt_execute(model, sets.in, nullptr));
  EXPECT_REFUSED(NRT_INVALID, nrt_execute(nullptr, sets.in, sets.outs));
  EXPECT_REFUSED(NRT_INVALID_HANDLE,
                 nrt_execute(model, reinterpret_cast<nrt_tensor_set_t *>(model), sets.outs));

  nrt_tensor_t *bad = nullptr;
  ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(kDevice, 0, kXBytes - 1, "small", &bad));
  sets_t::put(sets.in, "x", bad);
  EXPECT_REFUSED(NRT_INVALID, nrt_execute(model, sets.in, sets.outs));
  EXPECT_NE(std::string::npos, test_log().lines("ERROR").back().find(
                                   "input 'x' takes 65536 bytes, its tensor has 65535"));
  nrt_tensor_free(&bad);
  EXPECT_REFUSED(NRT_INVALID_HANDLE, nrt_execute(model, sets.in, sets.outs));  // freed in the set
  ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate(kDevice, 1, kXBytes, "elsewhere", &bad));
  sets_t::put(sets.in, "x", bad);
  EXPECT_REFUSED(NRT_INVALID, nrt_execute(model, sets.in, sets.outs));
  EXPECT_NE(std::string::npos, test_log().lines("ERROR").back().find("logical core 0"));
  nrt_tensor_free(&bad);
  ASSERT_EQ(NRT_SUCCESS, nrt_tensor_allocate_empty("empty", &bad));
  sets_t::put(sets.in, "x", bad);
  EXPECT_REFUSED(NRT_INVALID, nrt_execute(model, sets.in, sets.outs));
  nrt_tensor_free(&bad);

  // What was refused has disturbed nothing; names the model does not have are ignored.
  sets_t::put(sets.in, "x", sets.x);
  sets_t::put(sets.in, "another", sets.y);
  sets_t::put(sets.outs, "more", sets.y);
  EXPECT_QUIET(NRT_SUCCESS, nrt_execute(model, sets.in, sets.outs));
  EXPECT_EQ(0u, sets.wrong_elements(1, 1));
  EXPECT_QUIET(NRT_SUCCESS, nrt_unload(model));
  EXPECT_REFUSED(NRT_INVALID_HANDLE, nrt_execute(model, sets.in, sets.outs));
  nrt_destroy_tensor_set(&empty);
}

// One set for both directions, and an output that is read as an input in the next run.
TEST_F(Run, OneTensorInBothSets) {
  nrt_model_t *model = load();
  sets_t sets;
  nrt_tensor_set_t *both = nullptr;
  ASSERT_EQ(NRT_SUCCESS, nrt_allocate_tensor_set(&both));
  sets_t::put(both, "x", sets.x);
  sets_t::put(both, "y", sets.y);
  sets_t::put(both, "output0", sets.y);  // out over the first half of y
  sets.fill(2, 3);
  EXPECT_QUIET(NRT_SUCCESS, nrt_execute(model, both, both));
  std::vector<uint16_t> y(256 * 128);
  ASSERT_EQ(NRT_SUCCESS, nrt_tensor_read(sets.y, y.data(), 0, kYBytes));
  EXPECT_EQ(0u, wrong(y, 2, 3));
  nrt_destroy_tensor_set(&both);
}

// Runs in a row; the outputs are counted.
TEST_F(Run, Repeat) {
  nrt_model_t *model = load();
  sets_t sets;
  sets.fill(2, 4);
  EXPECT_REFUSED(NRT_INVALID, nrt_execute_repeat(model, sets.in, sets.outs, 0));
  EXPECT_REFUSED(NRT_INVALID, nrt_execute_repeat(model, sets.in, sets.outs, -1));
  EXPECT_EQ(NRT_SUCCESS, nrt_tensor_check_output_completion(sets.out, 0, 0));
  EXPECT_QUIET(NRT_SUCCESS, nrt_execute_repeat(model, sets.in, sets.outs, 5));
  EXPECT_EQ(0u, sets.wrong_elements(2, 4));
  EXPECT_QUIET(NRT_SUCCESS, nrt_tensor_check_output_completion(sets.out, 0, 5));
  EXPECT_REFUSED(NRT_TIMEOUT, nrt_tensor_check_output_completion(sets.out, 0, 6));
  // The output is fed back: y's first half is doubled each time.
  nrt_tensor_set_t *back = nullptr;
  ASSERT_EQ(NRT_SUCCESS, nrt_allocate_tensor_set(&back));
  sets_t::put(back, "output0", sets.y);
  sets.fill(2, 4);
  EXPECT_QUIET(NRT_SUCCESS, nrt_execute_repeat(model, sets.in, back, 3));
  std::vector<uint16_t> y(256 * 128);
  ASSERT_EQ(NRT_SUCCESS, nrt_tensor_read(sets.y, y.data(), 0, kYBytes));
  EXPECT_EQ(0u, wrong(y, 8, 4));
  nrt_destroy_tensor_set(&back);
}

// Sixteen threads on five models of two logical cores, each with tensors of its own.
TEST_F(Run, SixteenThreads) {
  nrt_model_t *models[5];
  for (int i = 0; i < 5; ++i)
    models[i] = load(i % 2);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 16; ++t) {
    threads.emplace_back([&, t] {
      int which = static_cast<int>(t % 5);
      sets_t sets(t % 3 == 0 ? kVirtual : kDevice, which % 2);
      for (unsigned round = 0; round < 6; ++round)
        sets.expect_right(models[which], 1 + t % 4, t * 16 + round);
    });
  }
  for (std::thread &thread : threads)
    thread.join();
}

// Models come and go on one core while others run there and elsewhere.
TEST_F(Run, LoadsAndUnloadsBesideRuns) {
  nrt_model_t *steady = load(0), *elsewhere = load(1);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (nrt_model_t *model : {steady, elsewhere}) {
    threads.emplace_back([&, model] {
      sets_t sets(kDevice, model == steady ? 0 : 1);
      for (unsigned seed = 1; !stop; ++seed)
        sets.expect_right(model, 2, seed);
    });
  }
  for (unsigned round = 0; round < 10; ++round) {
    nrt_model_t *model = load(0);
    sets_t sets;
    sets.expect_right(model, 4, round);
    EXPECT_EQ(NRT_SUCCESS, nrt_unload(model));
  }
  stop = true;
  for (std::thread &thread : threads)
    thread.join();
}

// A model unloaded while it runs: every run is right or finds no model.
TEST_F(Run, UnloadWaitsForRuns) {
  for (int round = 0; round < 3; ++round) {
    nrt_model_t *model = load();
    std::atomic<int> runs{0};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        sets_t sets;
        sets.fill(2, t);
        for (;;) {
          NRT_STATUS status = nrt_execute(model, sets.in, sets.outs);
          if (status != NRT_SUCCESS) {
            EXPECT_EQ(NRT_INVALID_HANDLE, status);
            return;
          }
          ASSERT_EQ(0u, sets.wrong_elements(2, t));
          ++runs;
        }
      });
    }
    while (runs < 6)
      std::this_thread::yield();
    EXPECT_EQ(NRT_SUCCESS, nrt_unload(model));
    for (std::thread &thread : threads)
      thread.join();
  }
}
