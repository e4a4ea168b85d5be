// SPDX-License-Identifier: Apache-2.0
// The kernel back end over a scripted driver that keeps every request.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "hal/hal.h"
#include "tests/hal/recorder.h"

constexpr uint64_t kAll = 0xff;
constexpr uint64_t kNo64 = kAll & ~HAL_FEATURE_MEM_ALLOC64;

class marshal_test : public testing::Test {
 protected:
  void open(uint32_t arch, uint64_t features, std::vector<int> devices = {0}) {
    script_driver(&r, arch, features, arch == 2 ? 5 : 10, arch == 2 ? 7 : 11, devices);
    r.sizes.insert(extra.begin(), extra.end());
    hal_syscalls_t table = r.table();
    ASSERT_EQ(hal_open_with(hal_kernel_ops(), hal_kernel_create(&table), &hal), NRT_SUCCESS);
    ASSERT_EQ(hal_device_open(hal, 0, &device), NRT_SUCCESS);
    device_fd = r.opens.back().fd;
    misc_fd = r.opens[r.opens.size() - 2].fd;
    r.ioctls.clear();
  }
  void TearDown() override {
    hal_device_close(device);
    hal_close(hal);
  }
  // The only call so far, on the device lane unless told.
  void expect_one(uint32_t request, const bytes &expected) {
    ASSERT_EQ(r.ioctls.size(), 1u);
    EXPECT_EQ(r.ioctls[0].fd, device_fd);
    EXPECT_EQ(r.ioctls[0].request, request);
    EXPECT_EQ(r.ioctls[0].arg, expected.data);
    r.ioctls.clear();
  }
  recorder r;
  std::map<uint32_t, size_t> extra;  // sizes of requests the scripted driver does not know itself
  hal_t *hal = nullptr;
  hal_device_t *device = nullptr;
  int device_fd = -1;
  int misc_fd = -1;
};
