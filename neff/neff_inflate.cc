// SPDX-License-Identifier: Apache-2.0
#include "neff/neff_inflate.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

// A multiple of tar's 512, so that libarchive finds whole headers without copying them together.
static constexpr size_t kBlock = 256 << 10;
// zlib counts its input in 32 bits.
static constexpr uint64_t kInputStep = 1 << 30;

static bool is_gzip(std::span<const uint8_t> bytes) {
  return bytes.size() >= 2 && bytes[0] == 0x1F && bytes[1] == 0x8B;
}

neff_tar_source::neff_tar_source(std::span<const uint8_t> bytes)
    : payload(bytes), gzip(is_gzip(bytes)) {}

neff_tar_source::~neff_tar_source() {
  if (stream_open_)
    inflateEnd(&stream_);
}

void neff_tar_source::fail(NRT_STATUS failure, std::string what) {
  status = failure;
  error = std::move(what);
  end_ = true;
}

std::span<const uint8_t> neff_tar_source::next() {
  if (end_)
    return {};
  std::span<const uint8_t> piece;
  if (gzip) {
    piece = inflate_block();
  } else {
    piece = payload;
    end_ = true;
  }
  if (piece.size() > max_bytes - tar_bytes) {
    fail(NRT_INVALID, fmt::format("the archive inflates to more than {} bytes", max_bytes));
    return {};
  }
  tar_bytes += piece.size();
  return piece;
}

NRT_STATUS neff_tar_source::drain() {
  while (!next().empty()) {
  }
  return status;
}

// Gzip members may follow each other (RFC 1952, 2.2). Anything else after one is padding.
bool neff_tar_source::next_gzip_member() {
  auto rest = payload.subspan(consumed_);
  return rest.size() >= 10 && is_gzip(rest) && rest[2] == Z_DEFLATED && (rest[3] & 0xE0) == 0;
}

std::span<const uint8_t> neff_tar_source::inflate_block() {
  if (!stream_open_) {
    block_.reset(new (std::nothrow) uint8_t[kBlock]);
    if (block_ == nullptr || inflateInit2(&stream_, MAX_WBITS + 16) != Z_OK) {
      fail(NRT_RESOURCE, "no host memory for inflating");
      return {};
    }
    stream_open_ = true;
  }
  stream_.next_out = block_.get();
  stream_.avail_out = kBlock;
  while (stream_.avail_out > 0 && !end_) {
    auto step = static_cast<uInt>(std::min<uint64_t>(payload.size() - consumed_, kInputStep));
    stream_.next_in = const_cast<uint8_t *>(payload.data() + consumed_);
    stream_.avail_in = step;
    int result = inflate(&stream_, Z_NO_FLUSH);
    consumed_ += step - stream_.avail_in;
    if (result == Z_STREAM_END) {
      if (!next_gzip_member())
        end_ = true;
      else
        inflateReset(&stream_);
    } else if (result == Z_MEM_ERROR) {
      fail(NRT_RESOURCE, "no host memory for inflating");
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      fail(NRT_INVALID, fmt::format("corrupt gzip stream at payload+0x{:x}: {}", consumed_,
                                    stream_.msg != nullptr ? stream_.msg : zError(result)));
    } else if (consumed_ == payload.size() && stream_.avail_out > 0) {
      fail(NRT_INVALID, fmt::format("the gzip stream is cut off at payload+0x{:x}", consumed_));
    }
  }
  return {block_.get(), kBlock - stream_.avail_out};
}
