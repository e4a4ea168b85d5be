// SPDX-License-Identifier: Apache-2.0
// Device memory for other hands: nrt_get_dmabuf_fd, nrt_get_hbm_mmap_va (nrt-api.md 5.2,
// device-memory.md 1.6).
#include <unistd.h>

#include <cstring>

#include "nrt_test.h"

namespace {

constexpr uint64_t GiB = 1ull << 30;

// A runtime of its own with some variables set.
class runtime_with {
 public:
  runtime_with(const char *name, const char *value) : variable_(name, value) {
    EXPECT_EQ(NRT_SUCCESS, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
  }
  ~runtime_with() { nrt_close(); }

 private:
  scoped_env variable_;
};

nrt_tensor_t *device_tensor(size_t size, int vnc = 0) {
  nrt_tensor_t *t = nullptr;
  EXPECT_EQ(NRT_SUCCESS, nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, vnc, size, "t", &t));
  return t;
}

}  // namespace

using Dmabuf = NrtTest;

TEST_F(Dmabuf, OfATensor) {
  nrt_tensor_t *t = device_tensor(8192, 2);
  void *va = nrt_tensor_get_va(t);
  ASSERT_NE(nullptr, va);
  int fd = -1;
  EXPECT_QUIET(NRT_SUCCESS, nrt_get_dmabuf_fd(reinterpret_cast<uint64_t>(va), 8192, &fd));
  ASSERT_GE(fd, 0);
  EXPECT_EQ(0, close(fd));
  int other = -1;
  EXPECT_QUIET(NRT_SUCCESS, nrt_get_dmabuf_fd(reinterpret_cast<uint64_t>(va) + 4096, 4096, &other));
  EXPECT_EQ(0, close(other));
  nrt_tensor_free(&t);
}

TEST_F(Dmabuf, Refusals) {
  int fd = -7, local = 0;
  EXPECT_REFUSED(NRT_INVALID, nrt_get_dmabuf_fd(reinterpret_cast<uint64_t>(&local), 4, &fd));
  EXPECT_REFUSED(NRT_INVALID, nrt_get_dmabuf_fd(0, 4096, &fd));
  nrt_tensor_t *t = device_tensor(4096);
  auto va = reinterpret_cast<uint64_t>(nrt_tensor_get_va(t));
  EXPECT_REFUSED(NRT_INVALID, nrt_get_dmabuf_fd(va, 0, &fd));
  EXPECT_REFUSED(NRT_INVALID, nrt_get_dmabuf_fd(va, 4096, nullptr));
  EXPECT_EQ(-7, fd);
  nrt_tensor_free(&t);  // its mapping is gone
  EXPECT_REFUSED(NRT_INVALID, nrt_get_dmabuf_fd(va, 4096, &fd));
}

TEST(DmabufOptions, SwitchedOffOrMissing) {
  for (auto [name, value] :
       {std::pair("NEURON_RT_ENABLE_P2P", "0"), std::pair("NEURON_MOCK_HIDE_FEATURES", "0x1")}) {
    SCOPED_TRACE(name);
    runtime_with r(name, value);
    nrt_tensor_t *t = device_tensor(4096);
    int fd = -1;
    EXPECT_REFUSED(NRT_INVALID,
                   nrt_get_dmabuf_fd(reinterpret_cast<uint64_t>(nrt_tensor_get_va(t)), 4096, &fd));
    EXPECT_EQ(-1, fd);
    nrt_tensor_free(&t);
  }
}

// The statuses clients tell apart: 4 is an error, others mean "go on without".
TEST(DmabufOptions, DriverErrors) {
  for (auto [error, status] : {std::pair("12", NRT_RESOURCE), std::pair("24", NRT_RESOURCE),
                               std::pair("93", NRT_INVALID), std::pair("5", NRT_FAILURE)}) {
    SCOPED_TRACE(error);
    runtime_with r("NEURON_MOCK_FAULT", (std::string("DMABUF_FD:1:") + error).c_str());
    nrt_tensor_t *t = device_tensor(4096);
    auto va = reinterpret_cast<uint64_t>(nrt_tensor_get_va(t));
    int fd = -1;
    EXPECT_REFUSED(status, nrt_get_dmabuf_fd(va, 4096, &fd));
    EXPECT_QUIET(NRT_SUCCESS, nrt_get_dmabuf_fd(va, 4096, &fd));
    EXPECT_EQ(0, close(fd));
    nrt_tensor_free(&t);
  }
}

// Byte i of a tensor is byte (address - base of the HBM) of the mapping.
TEST(HbmMap, EveryHbmOfTheDevice) {
  runtime_with r("NEURON_RT_MAP_HBM", "1");
  const uint64_t base[] = {0, 0x4000000000, 0x800000000000, 0x804000000000};
  void *maps[4] = {};
  for (int hbm = 0; hbm < 4; ++hbm) {
    size_t size = 0;
    ASSERT_EQ(NRT_SUCCESS, nrt_get_hbm_mmap_va(0, hbm, &maps[hbm], &size));
    EXPECT_EQ(24 * GiB, size);
    nrt_tensor_t *t = device_tensor(64, hbm);
    nrt_tensor_device_allocation_info_t info{};
    ASSERT_EQ(NRT_SUCCESS, nrt_tensor_get_device_allocation_info(t, &info));
    ASSERT_EQ(hbm, info.hbm_index);
    auto *seen = static_cast<uint8_t *>(maps[hbm]) + (info.physical_address - base[hbm]);
    uint32_t word = 0xc0ffee00u + static_cast<uint32_t>(hbm), got = 0;
    ASSERT_EQ(NRT_SUCCESS, nrt_tensor_write(t, &word, 60, 4));
    EXPECT_EQ(0, memcmp(seen + 60, &word, 4));
    memcpy(seen, &word, 4);
    EXPECT_EQ(NRT_SUCCESS, nrt_tensor_read(t, &got, 0, 4));
    EXPECT_EQ(word, got);
    void *again = nullptr;
    EXPECT_QUIET(NRT_SUCCESS, nrt_get_hbm_mmap_va(0, hbm, &again, &size));
    EXPECT_EQ(maps[hbm], again) << "mapped once";
    nrt_tensor_free(&t);
  }
  void *va = nullptr;
  size_t size = 7;
  EXPECT_REFUSED(NRT_INVALID_HANDLE, nrt_get_hbm_mmap_va(0, 4, &va, &size));
  EXPECT_REFUSED(NRT_INVALID, nrt_get_hbm_mmap_va(0, -1, &va, &size));
  EXPECT_REFUSED(NRT_INVALID, nrt_get_hbm_mmap_va(1, 0, &va, &size));
  EXPECT_REFUSED(NRT_INVALID, nrt_get_hbm_mmap_va(-1, 0, &va, &size));
  EXPECT_REFUSED(NRT_INVALID, nrt_get_hbm_mmap_va(0, 0, nullptr, &size));
  EXPECT_REFUSED(NRT_INVALID, nrt_get_hbm_mmap_va(0, 0, &va, nullptr));
  EXPECT_EQ(nullptr, va);
  EXPECT_EQ(7u, size);
}

TEST(HbmMap, OffByDefault) {
  runtime_with r("NEURON_RT_MAP_HBM", nullptr);
  void *va = nullptr;
  size_t size = 0;
  EXPECT_REFUSED(NRT_INVALID, nrt_get_hbm_mmap_va(0, 0, &va, &size));
  EXPECT_REFUSED(NRT_INVALID_HANDLE, nrt_get_hbm_mmap_va(0, 4, &va, &size));
}

TEST(HbmMap, NotOnTrn1) {
  scoped_env instance("NEURON_MOCK_INSTANCE", "trn1.2xlarge");
  runtime_with r("NEURON_RT_MAP_HBM", "1");
  void *va = nullptr;
  size_t size = 0;
  EXPECT_REFUSED(NRT_INVALID, nrt_get_hbm_mmap_va(0, 0, &va, &size));
  EXPECT_REFUSED(NRT_INVALID_HANDLE, nrt_get_hbm_mmap_va(0, 2, &va, &size));
}

TEST(HbmMap, BadVariables) {
  for (const char *name : {"NEURON_RT_MAP_HBM", "NEURON_RT_ENABLE_P2P", "NEURON_RT_RESET_CORES"}) {
    scoped_env variable(name, "perhaps");
    EXPECT_REFUSED(NRT_INVALID, nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
  }
}
