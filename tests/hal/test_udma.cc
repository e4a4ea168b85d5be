// SPDX-License-Identifier: Apache-2.0
// Registers of DMA queues as programs address them (verified-facts.md G7, G8.6) and descriptors
// (dma-and-exec.md 1.2), written out.
#include <gtest/gtest.h>

#include "hal/udma.h"

namespace {

TEST(Udma, RegistersOfCaymanCoreFour) {
  const hal_arch_t *a = hal_arch_get(3);
  constexpr uint64_t base = 0x801002000000;
  for (uint32_t k = 0; k < 16; ++k) {
    EXPECT_EQ(hal_udma_register(a, 4, k, 0, false, HAL_UDMA_BASE), base + k * 0x100000 + 0x1028);
    EXPECT_EQ(hal_udma_register(a, 4, k, 0, true, HAL_UDMA_BASE), base + k * 0x100000 + 0x21028);
  }
  EXPECT_EQ(hal_udma_register(a, 4, 10, 14, true, HAL_UDMA_DOORBELL), 0x801002a2f038u);
  EXPECT_EQ(hal_udma_register(a, 4, HAL_UDMA_ALL, 0, false, HAL_UDMA_DOORBELL), base + 0x81038);
  EXPECT_EQ(hal_udma_register(a, 4, HAL_UDMA_ALL, 2, true, HAL_UDMA_DOORBELL), base + 0xa3038);
  EXPECT_EQ(hal_udma_register(a, 4, HAL_UDMA_ALL, 0, false, HAL_UDMA_RESET), base + 0x810b0);
  EXPECT_EQ(hal_udma_register(a, 4, HAL_UDMA_ALL, 0, true, HAL_UDMA_RESET), base + 0xa1064);
  EXPECT_EQ(hal_udma_register(a, 4, 0, 1, false, HAL_UDMA_LENGTH), base + 0x2030);
  EXPECT_EQ(hal_udma_register(a, 4, 0, 1, false, HAL_UDMA_CONFIG), base + 0x2020);
  EXPECT_EQ(hal_udma_stride(a), 0x100000u);
  EXPECT_EQ(hal_udma_register(a, 8, 0, 0, false, HAL_UDMA_BASE), UINT64_MAX);
}

TEST(Udma, CoresOfADeviceShareNoRegister) {
  for (uint32_t arch : {2, 3}) {
    const hal_arch_t *a = hal_arch_get(arch);
    for (uint32_t core = 0; core < a->cores_per_device; ++core)
      for (uint32_t other = 0; other < core; ++other)
        for (uint32_t k = 0; k < 16; ++k)
          EXPECT_GE(hal_udma_register(a, core, 0, 0, false, HAL_UDMA_BASE) -
                        hal_udma_register(a, other, k, 0, false, HAL_UDMA_BASE),
                    hal_udma_stride(a));
  }
}

TEST(Udma, RegistersOfSunda) {
  const hal_arch_t *a = hal_arch_get(2);
  for (uint32_t k = 0; k < 16; ++k)
    EXPECT_EQ(hal_udma_register(a, 0, k, 1, false, HAL_UDMA_BASE),
              0xffff0000000 + k * 0x40000 + 0x2028);
  EXPECT_EQ(hal_udma_register(a, 0, HAL_UDMA_ALL, 0, false, HAL_UDMA_DOORBELL), 0xffff1001038u);
  EXPECT_EQ(hal_udma_register(a, 0, HAL_UDMA_ALL, 0, true, HAL_UDMA_DOORBELL), 0xffff1021038u);
  EXPECT_EQ(hal_udma_register(a, 1, HAL_UDMA_ALL, 0, true, HAL_UDMA_DOORBELL), UINT64_MAX);
  EXPECT_EQ(hal_udma_stride(a), 0x40000u);
}

TEST(Udma, WordsThatComplete) {
  const hal_arch_t *v3 = hal_arch_get(3), *v2 = hal_arch_get(2);
  EXPECT_EQ(hal_constant_one(v3), 0x9000000004u);
  EXPECT_EQ(hal_constant_one(v2), 0x2000000004u);
  EXPECT_EQ(hal_semaphore_increment(v3, 4, 24), 0x802000000000u + 0x802700000 + 0x1800 + 4 * 24);
  EXPECT_EQ(hal_semaphore_increment(v2, 1, 255), 0xFFFC4000000u + 0x2700000 + 0x1800 + 4 * 255);
  EXPECT_EQ(hal_event_state(v3, 0, 12), 0x2000000000u + 0x802700000 + 4 * 12);
  EXPECT_EQ(hal_semaphore_increment(v3, 8, 24), UINT64_MAX);
  EXPECT_EQ(hal_engine_register(v3, 4, 1, 0x10), 0x802000000000u + 0x802700000 + 0x8000 + 0x50);
  EXPECT_EQ(hal_engine_register(v3, 8, 1, 0x10), UINT64_MAX);
}

TEST(Udma, Descriptors) {
  hal_dma_desc_t d = hal_dma_tx(0x123456789a, 256, true, false);
  EXPECT_EQ(d.len_ctrl, 0x05000100u);  // ring id 1, first
  EXPECT_EQ(d.meta_ctrl, 0x01080003u);
  EXPECT_EQ(d.address, 0x123456789au);
  hal_dma_write_barrier(&d);
  EXPECT_EQ(d.meta_ctrl, 0x05080003u);
  d = hal_dma_tx(0, 65536, false, true);
  EXPECT_EQ(d.len_ctrl, 0x09000000u);  // a length of 0 is 65536
  EXPECT_EQ(hal_dma_desc_bytes(&d), 65536u);
  d = hal_dma_rx(8, 1);
  EXPECT_EQ(d.len_ctrl, 0x01000001u);
  EXPECT_EQ(d.meta_ctrl, 0u);
  EXPECT_EQ(hal_dma_desc_bytes(&d), 1u);
  EXPECT_EQ(hal_udma_doorbell_value(2, 0xfffe), 0xfffe0002u);
}

}  // namespace
