// SPDX-License-Identifier: Apache-2.0
#include "bench/machine.h"

#include "bench/harness.h"
#include "hal/hal.h"
#include "hal/mock.h"
#include "mock_dev/mock_dev.h"

bench_machine::bench_machine() {
  mock_dev_options_t options{};
  mock_host_t *host = nullptr;
  if (mock_host_create(&options, &host) != 0 ||
      hal_open_with(hal_mock_ops(), hal_mock_create(host), &hal) != NRT_SUCCESS ||
      hal_device_open(hal, 0, &device) != NRT_SUCCESS ||
      dmem_device_create(0, &stats) != NRT_SUCCESS ||
      pcore_init(&core, device, 0, 0, stats) != NRT_SUCCESS ||
      dmem_allocator_create(dmem_allocator_type_t::GLOBAL, &core, &allocator) != NRT_SUCCESS)
    bench_die("no mocked machine");
}

bench_machine::~bench_machine() {
  dmem_allocator_destroy(allocator);
  pcore_fini(&core);
  dmem_device_destroy(stats);
  hal_device_close(device);
  hal_close(hal);
}

dmem_t *bench_machine::alloc(size_t size) {
  dmem_t *mem = nullptr;
  if (dmem_alloc_aligned(allocator, size, dma_mem_location_t::TONGA_DRAM, core.hbm_index, nullptr,
                         dma_mem_usage_type_t::TENSOR, nullptr, 0, &mem) != NRT_SUCCESS)
    bench_die("no device memory");
  return mem;
}
