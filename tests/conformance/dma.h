// SPDX-License-Identifier: Apache-2.0
// DMA requests as most tests send them.
#pragma once

#include "tests/conformance/memory.h"

struct rings_t {
  uint32_t engine = 0;
  uint32_t queue = 0;
  uint32_t tx_count = 64;
  uint32_t rx_count = 64;
  uint64_t tx = 0;
  uint64_t rx = 0;
  uint64_t rxc = 0;
};

neuron_ioctl_dma_queue_init queue_entry(const rings_t &r);
long queue_init(const fd_t &fd, const rings_t &r);

struct queue_t {
  long rc;
  neuron_dma_queue_state tx, rx;
};
queue_t queue_state(const fd_t &fd, uint32_t engine, uint32_t queue);

long copy_start(const fd_t &fd, uint32_t engine, uint32_t queue, uint32_t tx, uint32_t rx);

// mock-device-semantics.md 6.1: 16 bytes, little endian.
struct descriptor_t {
  uint32_t word0;
  uint32_t word1;
  uint64_t address;
};
static_assert(sizeof(descriptor_t) == 16);
// One whole packet: first and last set, ring id 1, the driver's own control word.
descriptor_t tx_descriptor(uint64_t address, uint32_t length);
descriptor_t rx_descriptor(uint64_t address, uint32_t length);

long write_descriptors(const fd_t &fd, uint64_t handle, uint64_t offset, const void *descriptors,
                       uint32_t count, uint32_t type);
