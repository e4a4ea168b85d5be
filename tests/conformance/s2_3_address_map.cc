// SPDX-License-Identifier: Apache-2.0
// Section 2.3: where blocks lie, seen through registers and mappings; 6.2's ring registers.
#include "tests/conformance/bar.h"
#include "tests/conformance/dma.h"

CONFORMANCE_SUITE(S2_3_AddressMap, V2_AND_V3);

namespace {

uint64_t core_bar0(const model_t &m, uint32_t core) {
  return (m.architecture == 2 ? 0 : 0xd0000000) + core * 0x4000000ull;
}

uint64_t core_address(const model_t &m, uint32_t core) {
  static const uint64_t v3[] = {0x2000000000,   0x3000000000,   0x6000000000,   0x7000000000,
                                0x802000000000, 0x803000000000, 0x806000000000, 0x807000000000};
  return m.architecture == 2 ? 0xfffc0000000 + core * 0x4000000ull : v3[core];
}

uint64_t engine_bar0(const model_t &m, uint32_t e) {
  if (m.architecture == 2)
    return e < 16    ? 0x30000000 + e * 0x40000ull
           : e < 32  ? 0x30700000 + (e - 16) * 0x40000ull
           : e == 32 ? 0x30600000
                     : 0x30d00000;
  static const uint64_t group[] = {0x82000000, 0x94000000, 0xa2000000, 0xb4000000};
  static const uint64_t copy[] = {0x6800000, 0x6900000, 0x46800000, 0x46900000};
  return e < 128 ? group[e / 32] + e % 32 * 0x100000ull : copy[e - 128];
}

long nq_init(const fd_t &fd, uint32_t device_type, uint32_t device, uint32_t type, uint32_t engine,
             uint32_t size, bool host, uint64_t *handle) {
  neuron_ioctl_notifications_init_v2 arg = {};
  arg.nq_dev_id = device;
  arg.nq_dev_type = device_type;
  arg.nq_type = type;
  arg.engine_index = engine;
  arg.size = size;
  arg.on_host_memory = host;
  long rc = fd.io(NEURON_IOCTL_NOTIFICATIONS_INIT_V2, &arg);
  *handle = arg.mem_handle;
  return rc;
}

// The registers of hardware queue q of a notification block.
void expect_nq(const fd_t &fd, uint64_t block, uint32_t q, uint64_t pa, uint32_t size) {
  EXPECT_EQ(reg64(fd, block + 0x28 * q + 0x100), pa) << std::hex << block;
  EXPECT_EQ(reg(fd, block + 0x28 * q + 0x108), size) << std::hex << block;
  EXPECT_EQ(reg(fd, block + 0x28 * q + 0x10c), 0u) << std::hex << block;
}

}  // namespace

TEST_P(S2_3_AddressMap, CoreWindow_StateBuffer) {
  for (uint32_t core = 0; core < model().cores; ++core) {
    uint32_t words[2] = {0x11110000 + core, 0x22220000 + core};
    neuron_ioctl_program_engine_nc64 arg = {};
    arg.dst = core_address(model(), core) + 0x1000;
    arg.buffer = words;
    arg.size = 8;
    ASSERT_EQ(io(NEURON_IOCTL_PROGRAM_ENGINE_NC64, &arg), 0);
  }
  for (uint32_t core = 0; core < model().cores; ++core) {
    EXPECT_EQ(reg(dev, core_bar0(model(), core) + 0x1000), 0x11110000 + core);
    EXPECT_EQ(reg(dev, core_bar0(model(), core) + 0x1004), 0x22220000 + core);
  }
}

TEST_P(S2_3_AddressMap, CoreEventsAndSemaphores) {
  for (uint32_t core = 0; core < model().cores; ++core) {
    neuron_ioctl_semaphore arg = {core, 255, 5000 + core};
    ASSERT_EQ(io(NEURON_IOCTL_SEMAPHORE_WRITE, &arg), 0);
    arg = {core, 3, 1};
    ASSERT_EQ(io(NEURON_IOCTL_EVENT_SET, &arg), 0);
    uint64_t block = core_bar0(model(), core) + 0x2700000;
    EXPECT_EQ(reg(dev, block + 0x1000 + 4 * 255), 5000 + core);
    EXPECT_EQ(reg(dev, block + 4 * 3), 1u);
    // Increment and decrement are windows of the same value.
    EXPECT_EQ(bar_write(dev, 0, {block + 0x1800 + 4 * 255, block + 0x1c00 + 4 * 255}, {10, 3}), 0);
    EXPECT_EQ(reg(dev, block + 0x1000 + 4 * 255), 5007 + core);
  }
}

TEST_P(S2_3_AddressMap, TopSps) {
  for (uint32_t i = 0; i < model().top_sps; ++i) {
    uint64_t block = v2()    ? 0x10000000 + i * 0x400000ull
                     : i < 8 ? 0xf0000000 + i * 0x400000ull
                             : 0xf2800000 + (i - 8) * 0x400000ull;
    // Its semaphores: set window, read window.
    EXPECT_EQ(bar_write(dev, 0, {block + 0x1400 + 4 * 2}, {300 + i}), 0);
    EXPECT_EQ(reg(dev, block + 0x1000 + 4 * 2), 300 + i);
    neuron_ioctl_resource_mmap_info arg = {};
    arg.block = NEURON_MMAP_BLOCK_TOP_SP;
    arg.block_id = i;
    ASSERT_EQ(io(NEURON_IOCTL_RESOURCE_MMAP_INFO, &arg), 0);
    void *va = nullptr;
    ASSERT_EQ(dev.map(arg.offset, arg.size, PROT_READ, &va), 0);
    EXPECT_EQ(static_cast<uint32_t *>(va)[(0x1000 + 4 * 2) / 4], 300 + i);
    EXPECT_EQ(dev.unmap(va, arg.size), 0);
  }
}

// 6.2: rings as each engine's registers show them.
TEST_P(S2_3_AddressMap, DmaEngines) {
  chunk_t tx = alloc(dev), rx = alloc(dev);
  for (uint32_t e = 0; e < model().engines; ++e) {
    uint32_t q = 1 + e % 13;
    rings_t r = {.engine = e,
                 .queue = q,
                 .tx_count = 32 + 16 * (e % 5),
                 .rx_count = 128,
                 .tx = tx.handle,
                 .rx = rx.handle};
    ASSERT_EQ(queue_init(dev, r), 0) << e;
    uint64_t tx_block = engine_bar0(model(), e) + 0x1000 + q * 0x1000;
    uint64_t rx_block = engine_bar0(model(), e) + 0x21000 + q * 0x1000;
    EXPECT_EQ(reg64(dev, tx_block + 0x28), tx.pa) << e;
    EXPECT_EQ(reg64(dev, rx_block + 0x28), rx.pa) << e;
    EXPECT_EQ(reg(dev, tx_block + 0x30) & 0xffffff, r.tx_count);
    EXPECT_EQ(reg(dev, rx_block + 0x30) & 0xffffff, 128u);
    EXPECT_EQ(reg(dev, tx_block + 0x34), 1u << 30);  // head 0, ring id 1
    EXPECT_EQ(reg(dev, rx_block + 0x34), 1u << 30);
    EXPECT_EQ(reg(dev, tx_block + 0x3c) & 0xffffff, 0u);
    EXPECT_EQ(reg(dev, tx_block + 0x20) & 0x30000u, 0x30000u);  // prefetch and schedule enabled
    EXPECT_EQ(reg(dev, rx_block + 0x20) & 0x30000u, 0x30000u);
  }
}

TEST_P(S2_3_AddressMap, DmaEngineState) {
  for (uint32_t e : {0u, model().engines - 1}) {
    uint64_t block = engine_bar0(model(), e);
    for (uint32_t state : {2u, 0u, 3u, 2u}) {
      neuron_ioctl_dma_eng_set_state arg = {e, state};
      ASSERT_EQ(io(NEURON_IOCTL_DMA_ENG_SET_STATE, &arg), 0);
      // Any of the four fields: 1 is normal, 2 is abort, else idle.
      uint32_t seen[2] = {reg(dev, block + 0x200), reg(dev, block + 0x20200)};
      for (uint32_t r : seen) {
        bool abort = false, normal = false;
        for (uint32_t shift : {0, 4, 8, 12}) {
          abort |= (r >> shift & 3) == 2;
          normal |= (r >> shift & 3) == 1;
        }
        EXPECT_EQ(abort, state == 3);
        EXPECT_EQ(normal && !abort, state == 2);
      }
    }
  }
}

TEST_P(S2_3_AddressMap, NotificationsOfCores) {
  static const uint64_t v2_block[] = {0x30535000, 0x30c35000};
  static const uint64_t v3_block[] = {0x6001000,  0x6181000,  0x6401000,  0x6581000,
                                      0x46001000, 0x46181000, 0x46401000, 0x46581000};
  for (uint32_t core = 0; core < model().cores; ++core) {
    uint64_t block = v2() ? v2_block[core] : v3_block[core], handle = 0;
    // The hardware queue is the engine index alone.
    for (uint32_t q : {0u, 7u, 15u}) {
      ASSERT_EQ(nq_init(dev, 0, core, 1 + q % 3, q, 0x2000, q == 7, &handle), 0);
      expect_nq(dev, block, q, pa_of(dev, handle).pa, 0x2000);
    }
  }
}

TEST_P(S2_3_AddressMap, NotificationsOfTopSps) {
  for (uint32_t i = 0; i < model().top_sps; ++i) {
    uint64_t block =
        v2() ? 0x30e04000 + i * 0x40000ull : 0x6a00000 + i % 8 * 0x40000ull + i / 8 * 0x40000000ull;
    uint64_t handle = 0;
    ASSERT_EQ(nq_init(dev, 1, i, 0, 2, 0x1000, false, &handle), 0);
    expect_nq(dev, block, 2, pa_of(dev, handle).pa, 0x1000);
  }
}

TEST_P(S2_3_AddressMap, NotificationsOfDmaTraces) {
  static const uint64_t v3_block[] = {0x82041000, 0x83041000, 0x94041000, 0x95041000,
                                      0xa2041000, 0xa3041000, 0xb4041000, 0xb5041000};
  for (uint32_t core = 0; core < model().cores; ++core) {
    for (uint32_t k : {0u, 1u, 15u}) {
      uint64_t block = v2() ? (core == 0 ? 0x30401000 : 0x30b01000) + k * 0x7000ull
                            : v3_block[core] + k * 0x100000ull;
      uint64_t handle = 0;
      ASSERT_EQ(nq_init(dev, 0, core, 4, k, 0x1000, false, &handle), 0);
      expect_nq(dev, block, 0, pa_of(dev, handle).pa, 0x1000);  // queue 0 of that engine's block
    }
  }
}
