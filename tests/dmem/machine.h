// SPDX-License-Identifier: Apache-2.0
// A mocked machine with its first device opened and its cores ready for allocations. The kernel
// back end is used, routed to the mock, so that a test can read the order of system calls.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/nlog.h"
#include "dmem/accounting.h"
#include "dmem/dmem.h"
#include "tests/hal/mock_route.h"

// Collects log lines of a level while it lives. Not for several threads.
struct log_lines {
  explicit log_lines(nlog_level wanted) : level(wanted) {
    nlog_set_hook(
        [](void *user, nlog_component, nlog_level line_level, const char *, std::string_view text) {
          auto *self = static_cast<log_lines *>(user);
          if (line_level == self->level)
            self->lines.emplace_back(text);
        },
        this);
  }
  ~log_lines() { nlog_set_hook(nullptr, nullptr); }
  nlog_level level;
  std::vector<std::string> lines;
};

struct machine {
  mock_route route;
  hal_t *hal = nullptr;
  hal_device_t *device = nullptr;
  dmem_device_t *stats = nullptr;
  std::vector<std::unique_ptr<physical_core_t>> cores;
  std::vector<dmem_allocator_t *> allocators;  // GLOBAL, one per core

  void open(const mock_dev_options_t &options) {
    ASSERT_EQ(mock_host_create(&options, &route.host), 0);
    hal_syscalls_t table = route.table();
    ASSERT_EQ(hal_open_with(hal_kernel_ops(), hal_kernel_create(&table), &hal), NRT_SUCCESS);
    ASSERT_EQ(hal_device_open(hal, 0, &device), NRT_SUCCESS);
    EXPECT_EQ(dmem_device_create(0, &stats), NRT_SUCCESS);
    ASSERT_NE(stats, nullptr);
    for (uint32_t nc = 0; nc < hal_arch(hal)->cores_per_device; ++nc) {
      cores.push_back(std::make_unique<physical_core_t>());
      ASSERT_EQ(pcore_init(cores.back().get(), device, 0, nc, stats), NRT_SUCCESS);
      dmem_allocator_t *allocator = nullptr;
      ASSERT_EQ(
          dmem_allocator_create(dmem_allocator_type_t::GLOBAL, cores.back().get(), &allocator),
          NRT_SUCCESS);
      allocators.push_back(allocator);
    }
    route.events.clear();
  }

  void open(const char *instance) {
    mock_dev_options_t options = {};
    options.instance = instance;
    open(options);
  }

  void close() {
    for (dmem_allocator_t *allocator : allocators)
      dmem_allocator_destroy(allocator);
    for (auto &core : cores)
      pcore_fini(core.get());
    dmem_device_destroy(stats);
    hal_device_close(device);
    hal_close(hal);
    mock_host_destroy(route.host);
    allocators.clear();
    cores.clear();
    stats = nullptr;
    device = nullptr;
    hal = nullptr;
    route.host = nullptr;
  }

  ~machine() {
    if (route.host != nullptr)
      close();
  }

  // Device memory of core 0 on channel 0, unless told.
  dmem_t *device_mem(size_t size, size_t alignment = 0, uint32_t core = 0, uint32_t channel = 0) {
    dmem_t *mem = nullptr;
    EXPECT_EQ(dmem_alloc_aligned(allocators[core], size, dma_mem_location_t::TONGA_DRAM, channel,
                                 nullptr, dma_mem_usage_type_t::TENSOR, nullptr, alignment, &mem),
              NRT_SUCCESS);
    return mem;
  }

  size_t calls(const std::string &call, uint32_t request = 0) {
    size_t count = 0;
    for (const mock_route::event &e : route.events)
      count += e.call == call && e.request == request ? 1 : 0;
    return count;
  }

  dmem_usage_table_t table() {
    dmem_usage_table_t t;
    dmem_device_snapshot(stats, &t);
    return t;
  }
};

// Request values as the sheet prints them (uapi.md 4).
namespace req {
constexpr uint32_t MEM_ALLOC_V2MT64 = 0x80384E66, MEM_FREE = 0x80084E16, MEM_GET_PA = 0x80084E19,
                   MEM_GET_INFO = 0x80084E1A, MEM_COPY64 = 0x80284E17,
                   MEM_COPY_ASYNC64 = 0xC0384E6C, MEM_COPY_ASYNC_WAIT = 0x40184E6D,
                   MEMSET64 = 0x80204E1C;
}  // namespace req
