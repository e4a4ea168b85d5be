// SPDX-License-Identifier: Apache-2.0
// Whole-file reads and writes. Reading goes through io_uring, in large blocks in flight; where the
// kernel or a sandbox forbids it, through pread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/finding.h"

struct neff_file_bytes {
  std::unique_ptr<uint8_t[]> data;
  size_t size = 0;
  bool used_io_uring = false;
  std::span<const uint8_t> span() const { return {data.get(), size}; }
};

// NRT_INVALID: cannot be opened, not a regular file, changed while being read; NRT_FAILURE: read
// error. OPENNRT_IO_URING=0 forces the fallback. `progress` may be empty; it gets bytes done and
// total.
using neff_file_progress = std::function<void(uint64_t done, uint64_t total)>;
NRT_STATUS neff_file_read(const std::string &path, finding_sink &findings, neff_file_bytes *out,
                          const neff_file_progress &progress = {});

// Writes a file in one piece: a temporary neighbour is renamed over `path`, so that a failure
// leaves no half file behind. NRT_FAILURE when it cannot be written.
NRT_STATUS neff_file_write(const std::string &path, std::span<const uint8_t> bytes,
                           finding_sink &findings);
