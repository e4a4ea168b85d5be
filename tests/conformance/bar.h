// SPDX-License-Identifier: Apache-2.0
// Registers through BAR_READ and BAR_WRITE.
#pragma once

#include "tests/conformance/memory.h"

// DEVICE_INFO's base value of BAR0.
uint64_t bar0(const fd_t &fd);
uint64_t bar0_size(const fd_t &fd);

// `offsets` are offsets in BAR0.
long bar_read(const fd_t &fd, uint32_t bar, const std::vector<uint64_t> &offsets, uint32_t *data);
long bar_write(const fd_t &fd, uint32_t bar, const std::vector<uint64_t> &offsets,
               const std::vector<uint32_t> &data);
// One register; the read must succeed.
uint32_t reg(const fd_t &fd, uint64_t offset);
uint64_t reg64(const fd_t &fd, uint64_t low_offset);
