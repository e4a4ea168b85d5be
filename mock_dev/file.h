// SPDX-License-Identifier: Apache-2.0
// Open files and descriptors of a mocked machine.
#pragma once

#include <cstdint>

#include "mock_dev/host.h"

// Numbers no real descriptor reaches, so that mixing the two up fails with EBADF.
constexpr int MOCK_FD_BASE = 0x10000000;

// What a descriptor is open on; `kind` MOCK_FILE_FREE: it is not open.
struct mock_file_info_t {
  mock_file_kind_t kind;
  bool misc_lane;
  uint8_t access;
  uint32_t device;
};
mock_file_info_t mock_file_info(mock_host *host, int fd);
