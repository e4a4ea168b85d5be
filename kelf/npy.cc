// SPDX-License-Identifier: Apache-2.0
#include "kelf/mla_resources.h"

namespace {
constexpr uint32_t NPY_MAGIC = 0x4E93;  // first two bytes, little-endian
constexpr size_t NPY_PREAMBLE = 10;     // magic, version, header length
}  // namespace

NRT_STATUS npy_payload(std::span<const uint8_t> file, const json_place &place,
                       std::span<const uint8_t> *out) {
  if (file.size() < NPY_PREAMBLE)
    return place.fail("NumPy file of {} bytes, the preamble alone has {}", file.size(),
                      NPY_PREAMBLE);
  uint32_t magic = file[0] | uint32_t{file[1]} << 8;
  if (magic != NPY_MAGIC || std::string_view(reinterpret_cast<const char *>(&file[2]), 4) != "UMPY")
    return place.fail("bad NumPy header: first word is {:#06x}, expected {:#06x} and \"UMPY\"",
                      magic, NPY_MAGIC);
  if (file[6] != 1)
    return place.fail("NumPy format version {}.{} at byte 6, only 1.0 is supported", file[6],
                      file[7]);
  size_t header = file[8] | size_t{file[9]} << 8;
  if (header > file.size() - NPY_PREAMBLE)
    return place.fail("NumPy header length {} at byte 8 does not fit the file of {} bytes", header,
                      file.size());
  *out = file.subspan(NPY_PREAMBLE + header);
  return NRT_SUCCESS;
}
