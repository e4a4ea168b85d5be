// SPDX-License-Identifier: Apache-2.0
// The payload as one run of tar bytes, whether it is stored bare or as gzip. libarchive has a gzip
// filter of its own, but the one Debian ships does not compare the CRC-32 at the end of the stream:
// a flipped bit would load as somebody's weights. zlib does compare it.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "nrt/nrt_status.h"

struct neff_tar_source {
  std::span<const uint8_t> payload;
  bool gzip = false;
  uint64_t max_bytes = 0;  // tar bytes handed out at most
  uint64_t tar_bytes = 0;  // handed out so far
  NRT_STATUS status = NRT_SUCCESS;
  std::string error;  // what went wrong, with the offset in the payload

  explicit neff_tar_source(std::span<const uint8_t> bytes);
  neff_tar_source(const neff_tar_source &) = delete;
  neff_tar_source &operator=(const neff_tar_source &) = delete;
  ~neff_tar_source();

  // Next piece; empty at the end and on failure (then `status` is set). Whatever was inflated
  // before a defect is handed out first, so that the defect is met in the member it belongs to.
  std::span<const uint8_t> next();
  // Reads on to the end of the stream, which checks its CRC-32.
  NRT_STATUS drain();

 private:
  std::span<const uint8_t> inflate_block();
  bool next_gzip_member();
  void fail(NRT_STATUS failure, std::string what);

  uint64_t consumed_ = 0;  // payload bytes given to zlib
  bool end_ = false;
  bool stream_open_ = false;
  z_stream stream_{};
  std::unique_ptr<uint8_t[]> block_;
};
