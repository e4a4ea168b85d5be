// SPDX-License-Identifier: Apache-2.0
// Tests that run on both back ends: the mock's own, and the kernel's with its syscalls routed to a
// mocked machine.
#pragma once

#include <gtest/gtest.h>

#include "hal/mock.h"
#include "tests/hal/mock_route.h"

enum backend_t { OWN, ROUTED };

class Backends : public testing::TestWithParam<backend_t> {
 protected:
  void open(const mock_dev_options_t &options) {
    ASSERT_EQ(mock_host_create(&options, &host), 0);
    ASSERT_EQ(try_open(), NRT_SUCCESS);
    ASSERT_EQ(hal_device_open(hal, 0, &device), NRT_SUCCESS);
  }
  NRT_STATUS try_open() {
    if (GetParam() == OWN)
      return hal_open_with(hal_mock_ops(), hal_mock_create(host), &hal);
    route.host = host;
    hal_syscalls_t table = route.table();
    return hal_open_with(hal_kernel_ops(), hal_kernel_create(&table), &hal);
  }
  void open(const char *instance) {
    mock_dev_options_t options = {};
    options.instance = instance;
    open(options);
  }
  void close() {
    hal_device_close(device);
    hal_close(hal);
    if (GetParam() == ROUTED)
      mock_host_destroy(host);
    device = nullptr;
    hal = nullptr;
    host = nullptr;
  }
  void TearDown() override {
    if (host != nullptr)
      close();
  }
  int alloc(uint64_t size, uint64_t align, uint32_t hbm, uint32_t category, uint64_t *handle,
            uint64_t *pa, hal_location_t location = HAL_LOCATION_DEVICE, uint32_t nc = 0) {
    hal_mem_request_t request = {size, align, location, hbm, nc, category};
    int result = hal_mem_alloc(device, &request, handle);
    return result != 0 ? result : hal_mem_get_pa(device, *handle, pa);
  }
  mock_host_t *host = nullptr;
  mock_route route;
  hal_t *hal = nullptr;
  hal_device_t *device = nullptr;
};

#define INSTANTIATE_BACKENDS(suite)                                   \
  INSTANTIATE_TEST_SUITE_P(Both, suite, testing::Values(OWN, ROUTED), \
                           [](const auto &p) { return p.param == OWN ? "Mock" : "Kernel"; })
