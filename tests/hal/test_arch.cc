// SPDX-License-Identifier: Apache-2.0
// Figures of device-memory.md 1.2 to 1.4, written out.
#include <gtest/gtest.h>

#include "hal/arch.h"

TEST(Arch, SundaFigures) {
  const hal_arch_t *a = hal_arch_get(2);
  ASSERT_NE(a, nullptr);
  EXPECT_STREQ(a->name, "sunda");
  EXPECT_STREQ(a->nc_name, "NCv2");
  EXPECT_EQ(a->api_level_min, 6u);
  EXPECT_EQ(a->api_level_max, 7u);
  EXPECT_EQ(a->cores_per_device, 2u);
  EXPECT_EQ(a->cores_per_hbm, 1u);
  ASSERT_EQ(a->hbm_count, 2u);
  EXPECT_EQ(a->hbm_base[0], 0u);
  EXPECT_EQ(a->hbm_base[1], 0x1000000000u);
  EXPECT_EQ(a->hbm_size, 16ull << 30);
  EXPECT_EQ(a->hbm_reserved, 16ull << 20);
  EXPECT_EQ(a->hbm_small_pool, 1ull << 30);
  EXPECT_EQ(a->tpb_base[0], 0xFFFC0000000u);
  EXPECT_EQ(a->tpb_base[1], 0xFFFC4000000u);
  EXPECT_EQ(a->sbuf_window, 0x2000000u);
  EXPECT_EQ(a->sbuf_partition_stride, 0x40000u);
  EXPECT_EQ(a->sbuf_partition_size, 192u << 10);
  EXPECT_EQ(a->psum_offset, 0x2000000u);
  EXPECT_EQ(a->event_offset, 0x2700000u);
  EXPECT_EQ(a->host_window_bit, 1ull << 44);
  EXPECT_EQ(a->default_lnc, 1u);
  EXPECT_EQ(a->max_lnc, 1u);
}

TEST(Arch, CaymanFigures) {
  const hal_arch_t *a = hal_arch_get(3);
  ASSERT_NE(a, nullptr);
  EXPECT_STREQ(a->name, "cayman");
  EXPECT_EQ(a->api_level_min, 10u);
  EXPECT_EQ(a->api_level_max, 11u);
  EXPECT_EQ(a->cores_per_device, 8u);
  EXPECT_EQ(a->cores_per_hbm, 2u);
  ASSERT_EQ(a->hbm_count, 4u);
  const uint64_t hbm[] = {0, 0x4000000000, 0x800000000000, 0x804000000000};
  const uint64_t tpb[] = {0x2000000000,   0x3000000000,   0x6000000000,   0x7000000000,
                          0x802000000000, 0x803000000000, 0x806000000000, 0x807000000000};
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(a->hbm_base[i], hbm[i]);
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(a->tpb_base[i], tpb[i]);
  EXPECT_EQ(a->hbm_size, 24ull << 30);
  EXPECT_EQ(a->sbuf_partition_size, 224u << 10);
  EXPECT_EQ(a->psum_offset, 0x802000000u);
  EXPECT_EQ(a->event_offset, 0x802700000u);
  EXPECT_EQ(a->host_window_bit, 1ull << 46);
  EXPECT_EQ(a->default_lnc, 2u);
  for (uint32_t core = 0; core < 8; ++core)
    EXPECT_EQ(hal_default_hbm(a, core), core / 2);
}

TEST(Arch, OthersHaveNoConstants) {
  for (uint32_t arch : {0u, 1u, 4u, 5u, 0xFFFFFFFFu})
    EXPECT_EQ(hal_arch_get(arch), nullptr);
}

// device-memory.md 6, invariant 9.
TEST(Arch, StateBufferWindows) {
  for (uint32_t number : {2u, 3u}) {
    const hal_arch_t *a = hal_arch_get(number);
    for (uint32_t core = 0; core < a->cores_per_device; ++core) {
      uint64_t base = a->tpb_base[core];
      EXPECT_TRUE(hal_address_in_sbuf(a, core, base));
      EXPECT_TRUE(hal_address_in_sbuf(a, core, base + (32 << 20) - 1));
      EXPECT_FALSE(hal_address_in_sbuf(a, core, base + (32 << 20)));
      EXPECT_FALSE(hal_address_in_sbuf(a, core, base - 1));
      for (uint32_t hbm = 0; hbm < a->hbm_count; ++hbm) {
        EXPECT_FALSE(hal_address_in_sbuf(a, core, a->hbm_base[hbm]));
        EXPECT_FALSE(hal_address_in_sbuf(a, core, a->hbm_base[hbm] + a->hbm_size - 1));
      }
      for (uint32_t other = 0; other < a->cores_per_device; ++other) {
        if (other != core) {
          EXPECT_FALSE(hal_address_in_sbuf(a, other, base));
          EXPECT_FALSE(hal_address_in_sbuf(a, other, base + (32 << 20) - 1));
        }
      }
      EXPECT_EQ(aws_hal_stpb_get_axi_offset(a, core, 0), base);
      EXPECT_EQ(aws_hal_stpb_get_axi_offset(a, core, 5 * 0x40000 + 77), base + 5 * 0x40000 + 77);
      EXPECT_EQ(aws_hal_stpb_get_axi_offset(a, core, 32 << 20), UINT64_MAX);
    }
    EXPECT_FALSE(hal_address_in_sbuf(a, a->cores_per_device, a->tpb_base[0]));
    EXPECT_EQ(aws_hal_stpb_get_axi_offset(a, a->cores_per_device, 0), UINT64_MAX);
  }
}

TEST(Arch, ChannelOfAddress) {
  const hal_arch_t *v2 = hal_arch_get(2);
  EXPECT_EQ(hal_hbm_of_address(v2, 0), 0);
  EXPECT_EQ(hal_hbm_of_address(v2, 0x3FFFFFFFF), 0);
  EXPECT_EQ(hal_hbm_of_address(v2, 0x400000000), -1);  // the hole between the channels
  EXPECT_EQ(hal_hbm_of_address(v2, 0x1000000000), 1);
  EXPECT_EQ(hal_hbm_of_address(v2, 0x13FFFFFFFF), 1);
  EXPECT_EQ(hal_hbm_of_address(v2, 0x1400000000), -1);
  const hal_arch_t *v3 = hal_arch_get(3);
  EXPECT_EQ(hal_hbm_of_address(v3, 0x5FFFFFFFF), 0);
  EXPECT_EQ(hal_hbm_of_address(v3, 0x600000000), -1);
  EXPECT_EQ(hal_hbm_of_address(v3, 0x800000000000), 2);
  EXPECT_EQ(hal_hbm_of_address(v3, 0x804000001000), 3);
  EXPECT_EQ(hal_hbm_of_address(v3, UINT64_MAX), -1);
}
