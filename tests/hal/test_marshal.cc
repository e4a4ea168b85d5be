// SPDX-License-Identifier: Apache-2.0
// Every request the kernel back end sends, byte for byte, against layouts written out from the
// sheet; and the choice among request forms by feature bits.
#include <fcntl.h>
#include <gtest/gtest.h>

#include "base/nlog.h"
#include "tests/hal/marshal_fixture.h"

namespace {

using Marshal = marshal_test;

hal_mem_request_t request_of(uint64_t size, uint64_t align, hal_location_t location, uint32_t hbm,
                             uint32_t nc, uint32_t category) {
  return {size, align, location, hbm, nc, category};
}

}  // namespace

TEST_F(Marshal, OpenFlagsAndPaths) {
  open(3, kAll);
  ASSERT_EQ(r.opens.size(), 4u);
  EXPECT_EQ(r.opens[0].path, "/sys/module/neuron/version");
  EXPECT_EQ(r.opens[1].path, "/sys/class/dmi/id/product_name");
  EXPECT_EQ(r.opens[2].path, "/dev/neuron0");
  EXPECT_EQ(r.opens[2].flags, O_WRONLY | O_CLOEXEC);
  EXPECT_EQ(r.opens[3].path, "/dev/neuron0");
  EXPECT_EQ(r.opens[3].flags, O_RDWR | O_CLOEXEC);
  const hal_identity_t *id = hal_identity(hal);
  EXPECT_STREQ(id->backend, "kernel");
  EXPECT_STREQ(id->driver_version, "2.24.7.0");
  EXPECT_STREQ(id->instance_type, "trn2.3xlarge");
  EXPECT_EQ(id->api_min, 10u);
  EXPECT_EQ(id->api_max, 11u);
  EXPECT_EQ(id->features, 0xffu);
  EXPECT_EQ(id->revision, 7u);
  EXPECT_EQ(hal_mock_host(hal), nullptr);
}

TEST_F(Marshal, DeviceIsSharedAndClosedOnce) {
  open(3, kAll);
  hal_device_t *again = nullptr;
  ASSERT_EQ(hal_device_open(hal, 0, &again), NRT_SUCCESS);
  EXPECT_EQ(again, device);
  r.closes.clear();
  hal_device_close(again);
  EXPECT_TRUE(r.closes.empty());
  hal_device_close(device);
  device = nullptr;
  EXPECT_EQ(r.closes, std::vector<int>{device_fd});
}

TEST_F(Marshal, AllocForms) {
  open(3, kAll);
  uint64_t handle = 0;
  auto request = request_of(0x12345, 0x1000, HAL_LOCATION_DEVICE, 2, 5, 10);
  EXPECT_EQ(hal_mem_alloc(device, &request, &handle), 0);
  bytes v2mt64;
  v2mt64.u64(0x12345).u64(0x1000).u32(0).u32(2).u32(0).u32(5).u32(10).u32(0).ptr(&handle).zeros(8);
  expect_one(req::MEM_ALLOC_V2MT64, v2mt64);

  request = request_of(7, 0, HAL_LOCATION_HOST, 1, 3, 4);
  EXPECT_EQ(hal_mem_alloc(device, &request, &handle), 0);
  bytes host;
  host.u64(7).u64(0).u32(1).u32(1).u32(0).u32(3).u32(4).u32(0).ptr(&handle).zeros(8);
  expect_one(req::MEM_ALLOC_V2MT64, host);
}

TEST_F(Marshal, AllocWithoutMemAlloc64) {
  open(3, kNo64);
  uint64_t handle = 0;
  auto request = request_of(0x12345, 0x1000, HAL_LOCATION_DEVICE, 2, 5, 10);
  EXPECT_EQ(hal_mem_alloc(device, &request, &handle), 0);
  bytes v2mt;
  v2mt.u64(0x12345).u64(0x1000).u32(0).u32(2).u32(0).u32(5).u32(10).u32(0).ptr(&handle);
  expect_one(req::MEM_ALLOC_V2MT, v2mt);
}

TEST_F(Marshal, AllocWithoutCategories) {
  open(2, 0);
  uint64_t handle = 0;
  auto request = request_of(0x12345, 0x1000, HAL_LOCATION_DEVICE, 1, 1, 10);
  EXPECT_EQ(hal_mem_alloc(device, &request, &handle), 0);
  bytes v2;
  v2.u64(0x12345).u64(0x1000).u32(0).u32(1).u32(0).u32(1).ptr(&handle);
  expect_one(req::MEM_ALLOC_V2, v2);
  // No contiguous scratchpad: refused without a request.
  request.category = 19;
  EXPECT_EQ(hal_mem_alloc(device, &request, &handle), -EOPNOTSUPP);
  EXPECT_TRUE(r.ioctls.empty());
}

TEST_F(Marshal, Queries) {
  open(3, kAll);
  uint64_t pa = 0;
  uint64_t cookie = 0;
  EXPECT_EQ(hal_mem_free(device, 0x99), 0);
  expect_one(req::MEM_FREE, bytes().u64(0x99));
  EXPECT_EQ(hal_mem_get_pa(device, 5, &pa), 0);
  expect_one(req::MEM_GET_PA, bytes().u64(5).ptr(&pa));
  EXPECT_EQ(hal_mem_get_info(device, 6, &cookie, &pa), 0);
  expect_one(req::MEM_GET_INFO, bytes().u64(6).ptr(&cookie).ptr(&pa));

  hal_chunk_t chunks[3];
  uint32_t count = 3;
  r.responses[req::DUMP_MEM_CHUNKS] = [&](void *arg) {
    uint32_t two = 2;
    memcpy(static_cast<uint8_t *>(arg) + 8, &two, 4);
    bytes entries;
    entries.u64(0).u64(0x1000000).u32(13).u32(0).u64(0x1000000).u64(0x2000).u32(9).u32(0);
    memcpy(chunks, entries.data.data(), 48);
    return 0L;
  };
  EXPECT_EQ(hal_dump_chunks(device, 1, chunks, &count), 0);
  expect_one(req::DUMP_MEM_CHUNKS, bytes().u32(1).u32(3).u32(0).u32(0).ptr(chunks));
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(chunks[1].pa, 0x1000000u);
  EXPECT_EQ(chunks[1].size, 0x2000u);
  EXPECT_EQ(chunks[1].category, 9u);

  // Too small: asked once, the count comes back.
  r.responses[req::DUMP_MEM_CHUNKS] = [&](void *arg) {
    uint32_t many = 500;
    memcpy(static_cast<uint8_t *>(arg) + 8, &many, 4);
    return static_cast<long>(-EAGAIN);
  };
  EXPECT_EQ(hal_dump_chunks(device, 1, chunks, &count), -EAGAIN);
  EXPECT_EQ(count, 500u);
  EXPECT_EQ(r.ioctls.size(), 1u);
  r.ioctls.clear();
  EXPECT_EQ(hal_dump_chunks(device, 4, chunks, &count), -EINVAL);
  EXPECT_TRUE(r.ioctls.empty());
}

TEST_F(Marshal, SizeOfAChannel) {
  open(3, kAll);
  r.responses[req::RESOURCE_MMAP_INFO] = [](void *arg) {
    uint64_t answer[2] = {0x4000000000, 0x123456789000};
    memcpy(static_cast<uint8_t *>(arg) + 16, answer, sizeof(answer));
    return 0L;
  };
  uint64_t size = 0;
  EXPECT_EQ(hal_hbm_size(device, 1, &size), 0);
  expect_one(req::RESOURCE_MMAP_INFO, bytes().u32(2).u32(1).u32(3).u32(0).u64(0).u64(0));
  EXPECT_EQ(size, 0x123456789000u);
}

TEST_F(Marshal, CoreInitState) {
  open(3, kAll);
  r.responses[req::CINIT_SET_STATE] = [](void *arg) {
    uint32_t state = 2;
    memcpy(static_cast<uint8_t *>(arg) + 8, &state, 4);
    return 0L;
  };
  uint32_t state = 0;
  EXPECT_EQ(hal_core_init_state(device, 6, 1, &state), 0);
  expect_one(req::CINIT_SET_STATE, bytes().u32(6).u32(1).u32(0));
  EXPECT_EQ(state, 2u);
}

TEST_F(Marshal, Copies64) {
  open(3, kAll);
  char buffer[8];
  EXPECT_EQ(hal_mem_buf_copy(device, 3, buffer, 0x500000000, 8, true), 0);
  expect_one(req::MEM_BUF_COPY64, bytes().u64(3).ptr(buffer).u64(8).u64(0x500000000).u32(1).u32(0));
  EXPECT_EQ(hal_mem_buf_copy(device, 3, buffer, 16, 8, false), 0);
  expect_one(req::MEM_BUF_COPY64, bytes().u64(3).ptr(buffer).u64(8).u64(16).u32(0).u32(0));
  EXPECT_EQ(hal_mem_copy(device, 1, 0x100000001, 2, 0x200000002, 100), 0);
  expect_one(req::MEM_COPY64, bytes().u64(1).u64(2).u64(100).u64(0x100000001).u64(0x200000002));
  EXPECT_EQ(hal_memset(device, 9, 0x300000000, 0xAB, 50), 0);
  expect_one(req::MEMSET64, bytes().u64(9).u64(0x300000000).u32(0xAB).u32(0).u64(50));
  int wait = 0;
  r.responses[req::MEM_COPY_ASYNC64] = [](void *arg) {
    uint32_t slot = 2;
    memcpy(static_cast<uint8_t *>(arg) + 52, &slot, 4);
    return 0L;
  };
  EXPECT_EQ(hal_mem_copy_async(device, 1, 10, 2, 20, 4096, 1, &wait), 0);
  expect_one(req::MEM_COPY_ASYNC64,
             bytes().u64(1).u64(2).u64(4096).u64(10).u64(20).u64(0).u32(1).u32(0));
  EXPECT_EQ(wait, 2);
  EXPECT_EQ(hal_mem_copy_async(device, 1, 10, 2, 20, 4096, -1, &wait), 0);
  expect_one(req::MEM_COPY_ASYNC64,
             bytes().u64(1).u64(2).u64(4096).u64(10).u64(20).u64(0).u32(0xFFFFFFFF).u32(0));
  EXPECT_EQ(hal_mem_copy_wait(device, 1, 2, 2), 0);
  expect_one(req::MEM_COPY_ASYNC_WAIT, bytes().u64(1).u64(2).u32(2).u32(0));
}

TEST_F(Marshal, Copies32) {
  open(3, kNo64);
  char buffer[8];
  EXPECT_EQ(hal_mem_buf_copy(device, 3, buffer, 16, 8, true), 0);
  expect_one(req::MEM_BUF_COPY, bytes().u64(3).ptr(buffer).u32(8).u32(16).u32(1).u32(0));
  EXPECT_EQ(hal_mem_copy(device, 1, 5, 2, 6, 100), 0);
  expect_one(req::MEM_COPY, bytes().u64(1).u64(2).u32(100).u32(5).u32(6).u32(0));
  EXPECT_EQ(hal_memset(device, 9, 0x300000000, 0xAB, 50), 0);
  expect_one(req::MEMSET, bytes().u64(9).u64(0x300000000).u32(0xAB).u32(50));
  int wait = 0;
  EXPECT_EQ(hal_mem_copy_async(device, 1, 10, 2, 20, 4096, 2, &wait), 0);
  expect_one(req::MEM_COPY_ASYNC,
             bytes().u64(1).u64(2).u32(4096).u32(10).u32(20).u32(0).u64(0).u32(2).u32(0));
  // Offsets that the old forms cannot say.
  EXPECT_EQ(hal_mem_buf_copy(device, 3, buffer, 0x100000000, 8, true), -EOPNOTSUPP);
  EXPECT_EQ(hal_mem_copy(device, 1, 0, 2, 0x100000000, 8), -EOPNOTSUPP);
  EXPECT_EQ(hal_mem_copy_async(device, 1, 0, 2, 0x100000000, 8, -1, &wait), -EOPNOTSUPP);
  EXPECT_TRUE(r.ioctls.empty());
}

TEST_F(Marshal, AsyncNeedsItsFeature) {
  open(3, kAll & ~HAL_FEATURE_ASYNC_DMA);
  int wait = 0;
  EXPECT_EQ(hal_mem_copy_async(device, 1, 0, 2, 0, 8, -1, &wait), -EOPNOTSUPP);
  EXPECT_TRUE(r.ioctls.empty());
}

// The driver cuts sizes of 4 GiB and more to 32 bits; zero bytes would move 64 KiB.
TEST_F(Marshal, BigCopiesAreSplitAndEmptyOnesNotSent) {
  open(3, kAll);
  constexpr uint64_t size = (uint64_t{9} << 30) + 123;
  auto *fake = reinterpret_cast<char *>(0x100000);  // only its address travels
  EXPECT_EQ(hal_mem_buf_copy(device, 3, fake, 64, size, false), 0);
  uint64_t done = 0;
  for (const auto &call : r.ioctls) {
    uint64_t field[4];
    memcpy(field, call.arg.data(), sizeof(field));
    EXPECT_EQ(field[1], 0x100000 + done);
    EXPECT_LT(field[2], uint64_t{1} << 32);
    EXPECT_GT(field[2], 0u);
    EXPECT_EQ(field[3], 64 + done);
    done += field[2];
  }
  EXPECT_EQ(done, size);
  r.ioctls.clear();
  EXPECT_EQ(hal_mem_copy(device, 3, 1, 4, 2, size), 0);
  done = 0;
  for (const auto &call : r.ioctls) {
    uint64_t field[5];
    memcpy(field, call.arg.data(), sizeof(field));
    EXPECT_LT(field[2], uint64_t{1} << 32);
    EXPECT_EQ(field[3], 1 + done);
    EXPECT_EQ(field[4], 2 + done);
    done += field[2];
  }
  EXPECT_EQ(done, size);
  r.ioctls.clear();
  EXPECT_EQ(hal_memset(device, 3, 0, 1, size), 0);
  done = 0;
  for (const auto &call : r.ioctls) {
    uint64_t field[4];
    memcpy(field, call.arg.data(), sizeof(field));
    EXPECT_EQ(field[1], done);
    done += field[3];
  }
  EXPECT_EQ(done, size);
  r.ioctls.clear();
  int wait = 0;
  EXPECT_EQ(hal_mem_buf_copy(device, 3, fake, 0, 0, true), 0);
  EXPECT_EQ(hal_mem_copy(device, 3, 0, 4, 0, 0), 0);
  EXPECT_EQ(hal_memset(device, 3, 0, 0, 0), 0);
  EXPECT_EQ(hal_mem_copy_async(device, 1, 0, 2, 0, 0, -1, &wait), -EINVAL);
  EXPECT_EQ(hal_mem_copy_async(device, 1, 0, 2, 0, 133169153, -1, &wait), -EINVAL);
  // The end wraps around.
  EXPECT_EQ(hal_mem_buf_copy(device, 3, fake, UINT64_MAX - 3, 8, true), -EINVAL);
  EXPECT_EQ(hal_mem_copy(device, 3, UINT64_MAX, 4, 0, 1), -EINVAL);
  EXPECT_EQ(hal_memset(device, 3, UINT64_MAX, 0, 1), -EINVAL);
  EXPECT_TRUE(r.ioctls.empty());
}

TEST_F(Marshal, ResultsOfTheDriver) {
  open(3, kAll);
  uint64_t pa = 0;
  for (auto [raw, expected] : {std::pair<long, int>{0, 0},
                               {-ENOMEM, -ENOMEM},
                               {-EPERM, -EPERM},
                               {8, -EFAULT},
                               {-524, -524}}) {
    r.responses[req::MEM_GET_PA] = [raw = raw](void *) { return raw; };
    EXPECT_EQ(hal_mem_get_pa(device, 1, &pa), expected);
  }
  // Raw access shows what the driver said.
  r.responses[req::MEM_GET_EXTENDED_INFO] = [](void *) { return 22L; };
  char info[48] = {};
  EXPECT_EQ(hal_device_ioctl(device, req::MEM_GET_EXTENDED_INFO, info), 22);
}

TEST_F(Marshal, InterruptedCallsAreRepeated) {
  open(3, kAll);
  int calls = 0;
  uint64_t pa = 0;
  r.responses[req::MEM_GET_PA] = [&](void *) -> long {
    ++calls;
    return calls == 1 ? -EINTR : calls == 2 ? -EAGAIN : 0;
  };
  EXPECT_EQ(hal_mem_get_pa(device, 1, &pa), 0);
  EXPECT_EQ(calls, 3);
  // A driver that never stops does not hang the caller.
  r.responses[req::MEM_GET_PA] = [&](void *) -> long { return -EAGAIN; };
  EXPECT_EQ(hal_mem_get_pa(device, 1, &pa), -EAGAIN);
  r.responses[req::MEM_GET_PA] = [&](void *) -> long { return -EINTR; };
  EXPECT_EQ(hal_mem_get_pa(device, 1, &pa), -EINTR);
}

TEST_F(Marshal, ClaimsWide) {
  open(3, kAll);
  r.responses[req::NC_RANGE_MARK_EXT0] = [](void *arg) {
    uint64_t map = 0x60;  // cores 5 and 6
    memcpy(static_cast<uint8_t *>(arg) + 16, &map, 8);
    return 0L;
  };
  uint32_t claimed = 99;
  uint32_t available = 99;
  EXPECT_EQ(hal_cores_claim(hal, 2, 1, 7, &claimed, &available), 0);
  EXPECT_EQ(claimed, 5u);
  ASSERT_EQ(r.ioctls.size(), 1u);
  EXPECT_EQ(r.ioctls[0].fd, misc_fd);
  EXPECT_EQ(r.ioctls[0].request, req::NC_RANGE_MARK_EXT0);
  EXPECT_EQ(r.ioctls[0].arg, bytes().u32(2).u32(1).u32(7).u32(0).zeros(64).data);
  r.ioctls.clear();
  EXPECT_EQ(hal_cores_release(hal, 5, 2), 0);
  ASSERT_EQ(r.ioctls.size(), 1u);
  EXPECT_EQ(r.ioctls[0].request, req::NC_RANGE_UNMARK_EXT0);
  EXPECT_EQ(r.ioctls[0].arg, bytes().u32(2).u32(5).u32(6).u32(0).u64(0x60).zeros(56).data);

  r.responses[req::NC_RANGE_MARK_EXT0] = [](void *arg) -> long {
    uint32_t longest = 1;
    memcpy(static_cast<uint8_t *>(arg) + 12, &longest, 4);
    return -EBUSY;
  };
  EXPECT_EQ(hal_cores_claim(hal, 2, 0, 7, &claimed, &available), -EBUSY);
  EXPECT_EQ(available, 1u);
  r.ioctls.clear();
  EXPECT_EQ(hal_cores_claim(hal, 0, 0, 7, &claimed, &available), -EINVAL);
  EXPECT_EQ(hal_cores_claim(hal, 1, 3, 2, &claimed, &available), -EINVAL);
  EXPECT_EQ(hal_cores_claim(hal, 1, 0, 8, &claimed, &available), -EINVAL);
  EXPECT_EQ(hal_cores_claim(hal, 4, 5, 7, &claimed, &available), -EINVAL);
  EXPECT_EQ(hal_cores_release(hal, 7, 2), -EINVAL);
  EXPECT_TRUE(r.ioctls.empty());
}

TEST_F(Marshal, ClaimsNarrow) {
  open(3, kAll & ~HAL_FEATURE_BIG_CORE_MAPS);
  r.responses[req::NC_RANGE_MARK] = [](void *arg) {
    uint64_t map = 0x1;
    memcpy(static_cast<uint8_t *>(arg) + 16, &map, 8);
    return 0L;
  };
  uint32_t claimed = 99;
  uint32_t available = 99;
  EXPECT_EQ(hal_cores_claim(hal, 1, 0, 7, &claimed, &available), 0);
  EXPECT_EQ(claimed, 0u);
  ASSERT_EQ(r.ioctls.size(), 1u);
  EXPECT_EQ(r.ioctls[0].request, req::NC_RANGE_MARK);
  EXPECT_EQ(r.ioctls[0].arg, bytes().u32(1).u32(0).u32(7).u32(0).u64(0).data);
  r.ioctls.clear();
  EXPECT_EQ(hal_cores_release(hal, 0, 1), 0);
  ASSERT_EQ(r.ioctls.size(), 1u);
  EXPECT_EQ(r.ioctls[0].request, req::NC_RANGE_UNMARK);
  EXPECT_EQ(r.ioctls[0].arg, bytes().u32(1).u32(0).u32(0).u32(0).u64(1).data);
}

// Nodes 3, 4 and 6 of v2 (2 cores each): positions 0..5, driver cores 0..3 and 6..7 as seen from
// node 3.
TEST_F(Marshal, ClaimsOverGapsInNodeNumbers) {
  open(2, kAll, {3, 4, 6});
  EXPECT_EQ(hal_identity(hal)->device_count, 3u);
  EXPECT_EQ(hal_identity(hal)->device_index[2], 6u);
  EXPECT_EQ(hal_device_index(device), 3u);
  uint64_t taken = 0;
  r.responses[req::NC_RANGE_MARK_EXT0] = [&](void *arg) -> long {
    uint32_t in[3];
    memcpy(in, arg, sizeof(in));
    uint64_t map = ((uint64_t{1} << in[0]) - 1) << in[1];
    if ((taken & map) != 0)
      return -EBUSY;
    memcpy(static_cast<uint8_t *>(arg) + 16, &map, 8);
    return 0;
  };
  uint32_t claimed = 99;
  uint32_t available = 99;
  EXPECT_EQ(hal_cores_claim(hal, 6, 0, 5, &claimed, &available), 0);
  EXPECT_EQ(claimed, 0u);
  auto marks = r.of(req::NC_RANGE_MARK_EXT0);
  ASSERT_EQ(marks.size(), 2u);
  EXPECT_EQ(marks[0].arg, bytes().u32(4).u32(0).u32(3).u32(0).zeros(64).data);
  EXPECT_EQ(marks[1].arg, bytes().u32(2).u32(6).u32(7).u32(0).zeros(64).data);

  // The second part is taken: the first is given back.
  taken = 0xC0;
  r.ioctls.clear();
  EXPECT_EQ(hal_cores_claim(hal, 6, 0, 5, &claimed, &available), -EBUSY);
  auto unmarks = r.of(req::NC_RANGE_UNMARK_EXT0);
  ASSERT_EQ(unmarks.size(), 1u);
  EXPECT_EQ(unmarks[0].arg, bytes().u32(4).u32(0).u32(3).u32(0).u64(0xF).zeros(56).data);

  // A search goes on behind the gap.
  taken = 0x3;
  r.ioctls.clear();
  EXPECT_EQ(hal_cores_claim(hal, 2, 0, 5, &claimed, &available), 0);
  EXPECT_EQ(claimed, 4u);
}

TEST_F(Marshal, DeviceOpenFailures) {
  open(3, kAll, {0, 1});
  hal_device_t *other = nullptr;
  unsigned long errors = nlog_thread_error_count();
  EXPECT_EQ(hal_device_open(hal, 2, &other), NRT_INVALID);
  EXPECT_EQ(nlog_thread_error_count(), errors + 1);
  r.open_error = EBUSY;
  EXPECT_EQ(hal_device_open(hal, 1, &other), NRT_FAILURE);
  EXPECT_EQ(nlog_thread_error_count(), errors + 2);
  EXPECT_EQ(other, nullptr);
  r.open_error = 0;
  EXPECT_EQ(hal_device_open(hal, 1, &other), NRT_SUCCESS);
  EXPECT_EQ(r.opens.back().path, "/dev/neuron1");
  hal_device_close(other);
}
