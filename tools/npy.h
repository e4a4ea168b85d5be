// SPDX-License-Identifier: Apache-2.0
// NumPy array files: format versions 1.0, 2.0 and 3.0, plain little-endian element types.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/finding.h"

constexpr uint32_t NPY_MAX_DIMENSIONS = 32;     // NumPy's own limit
constexpr uint32_t NPY_MAX_HEADER = 10000;      // bytes of the dictionary; NumPy's own limit
constexpr uint64_t NPY_MAX_BYTES = 1ull << 40;  // of the data
constexpr size_t NPY_ALIGNMENT = 64;            // where the writer lets the data start

struct npy_array {
  // As in `descr`: 'f' float, 'i' signed, 'u' unsigned, 'b' boolean, 'V' raw bytes (bfloat16 is
  // stored as V2).
  char kind = 'u';
  uint32_t item_size = 1;         // bytes: f 2, 4, 8; i and u 1, 2, 4, 8; b 1; V 2
  std::vector<uint64_t> shape;    // empty: a single element
  std::span<const uint8_t> data;  // C order, little-endian
};

// "<f4", "|u1", ...; empty for a type that is none of those above.
std::string npy_descr(const npy_array &array);

// Reads a whole file. `out->data` points into it. NRT_INVALID and one finding at `where` for
// anything that is not exactly an array of the types above: bytes missing or left over, big-endian
// or structured types, Fortran order where it differs from C order.
NRT_STATUS npy_read(std::span<const uint8_t> file, const std::string &where, finding_sink &findings,
                    npy_array *out);

// Writes format 1.0. NRT_INVALID: a type that is not listed, too many dimensions, or data that is
// not as long as shape and type say. NRT_RESOURCE: no host memory.
NRT_STATUS npy_write(const npy_array &array, const std::string &where, finding_sink &findings,
                     std::vector<uint8_t> *out);
