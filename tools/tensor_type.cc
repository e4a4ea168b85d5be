// SPDX-License-Identifier: Apache-2.0
#include "tools/tensor_type.h"

#include <fmt/format.h>
#include <nrt/nrt.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>

namespace {

struct type_row {
  uint32_t dtype;
  const char *name;
  char kind;  // of npy_array
  uint32_t size;
};
constexpr type_row kTypes[] = {
    {NRT_DTYPE_UINT64, "uint64", 'u', 8},    {NRT_DTYPE_INT8, "int8", 'i', 1},
    {NRT_DTYPE_UINT8, "uint8", 'u', 1},      {NRT_DTYPE_INT16, "int16", 'i', 2},
    {NRT_DTYPE_UINT16, "uint16", 'u', 2},    {NRT_DTYPE_BFLOAT16, "bfloat16", 'u', 2},
    {NRT_DTYPE_FLOAT16, "float16", 'f', 2},  {NRT_DTYPE_INT32, "int32", 'i', 4},
    {NRT_DTYPE_UINT32, "uint32", 'u', 4},    {NRT_DTYPE_FLOAT32, "float32", 'f', 4},
    {NRT_DTYPE_FP32R, "fp32r", 'f', 4},      {NRT_DTYPE_INT64, "int64", 'i', 8},
    {NRT_DTYPE_FP8_E3, "float8_e3", 'u', 1}, {NRT_DTYPE_FP8_E4, "float8_e4", 'u', 1},
    {NRT_DTYPE_FP8_E5, "float8_e5", 'u', 1},
};
constexpr type_row kUnknown = {NRT_DTYPE_UNKNOWN, "unknown", 'u', 1};

const type_row &row_of(uint32_t dtype) {
  for (const type_row &row : kTypes)
    if (row.dtype == dtype)
      return row;
  return kUnknown;
}

// Kept in a .npy file as bits of another type.
bool is_foreign(uint32_t dtype) {
  return dtype == NRT_DTYPE_BFLOAT16 || dtype == NRT_DTYPE_FP8_E3 || dtype == NRT_DTYPE_FP8_E4 ||
         dtype == NRT_DTYPE_FP8_E5 || dtype == NRT_DTYPE_UNKNOWN;
}

template <typename T>
T load(const uint8_t *from) {
  T value;
  memcpy(&value, from, sizeof(value));
  return value;
}

double half_value(uint16_t bits) {
  int exponent = bits >> 10 & 0x1F;
  int mantissa = bits & 0x3FF;
  double value = exponent == 0x1F ? (mantissa != 0 ? NAN : INFINITY)
                 : exponent == 0  ? std::ldexp(mantissa, -24)
                                  : std::ldexp(mantissa + 1024, exponent - 25);
  return (bits & 0x8000) != 0 ? -value : value;
}

double plain_value(char kind, uint32_t size, const uint8_t *from) {
  switch (kind) {
    case 'f':
      return size == 2   ? half_value(load<uint16_t>(from))
             : size == 4 ? static_cast<double>(load<float>(from))
                         : load<double>(from);
    case 'i':
      return size == 1   ? load<int8_t>(from)
             : size == 2 ? load<int16_t>(from)
             : size == 4 ? load<int32_t>(from)
                         : static_cast<double>(load<int64_t>(from));
    default:
      return size == 1   ? load<uint8_t>(from)
             : size == 2 ? load<uint16_t>(from)
             : size == 4 ? load<uint32_t>(from)
                         : static_cast<double>(load<uint64_t>(from));
  }
}

// --- random --------------------------------------------------------------------------------------

uint64_t hash(uint64_t seed, uint64_t position) {
  uint64_t z = seed * 0xD1342543DE82EF95 + position * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
  z = (z ^ z >> 27) * 0x94D049BB133111EB;
  return z ^ z >> 31;
}

float normal(uint64_t bits) {
  float u = static_cast<float>((bits >> 40) + 1) * 0x1p-24f;  // (0, 1]
  float angle = static_cast<float>(bits & 0xFFFFFF) * (2 * std::numbers::pi_v<float> * 0x1p-24f);
  return std::sqrt(-2 * std::log(u)) * std::cos(angle);
}

uint16_t to_bf16(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

// Normal deviates are far from overflow.
uint16_t to_half(float value) {
  float magnitude = std::fabs(value);
  int exponent = magnitude < 0x1p-14f ? -14 : std::ilogb(magnitude);
  auto units = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  // A carry out of the mantissa goes on into the exponent.
  uint32_t bits = units < 1024 ? units : (static_cast<uint32_t>(exponent + 14) << 10) + units;
  return static_cast<uint16_t>(bits | (std::signbit(value) ? 0x8000 : 0));
}

template <typename T, typename Make>
void fill(uint64_t seed, uint64_t first, uint64_t count, uint8_t *out, Make make) {
  for (uint64_t i = 0; i < count; i++) {
    T value = make(hash(seed, first + i));
    memcpy(out + i * sizeof(T), &value, sizeof(T));
  }
}

}  // namespace

const char *tensor_type_name(uint32_t dtype) {
  return row_of(dtype).name;
}

uint32_t tensor_type_size(uint32_t dtype) {
  return row_of(dtype).size;
}

bool tensor_type_accepts(uint32_t dtype, const npy_array &array) {
  const type_row &row = row_of(dtype);
  if (array.item_size != row.size)
    return false;
  if (is_foreign(dtype))
    return array.kind == 'u' || array.kind == 'V';
  return array.kind == row.kind || (array.kind == 'b' && row.size == 1);
}

std::string tensor_type_stored_as(uint32_t dtype) {
  const type_row &row = row_of(dtype);
  if (!is_foreign(dtype))
    return fmt::format("{}{}",
                       row.kind == 'f'   ? "float"
                       : row.kind == 'i' ? "int"
                                         : "uint",
                       8 * row.size);
  return row.size == 2 ? fmt::format("uint16 or 2 raw bytes ({})", row.name)
                       : fmt::format("uint8 ({})", row.name);
}

void tensor_type_to_npy(uint32_t dtype, npy_array *out) {
  out->kind = row_of(dtype).kind;
  out->item_size = row_of(dtype).size;
}

bool tensor_type_has_values(uint32_t dtype) {
  return !is_foreign(dtype) || dtype == NRT_DTYPE_BFLOAT16;
}

double tensor_type_value(uint32_t dtype, const uint8_t *element) {
  if (dtype == NRT_DTYPE_BFLOAT16)
    return std::bit_cast<float>(static_cast<uint32_t>(load<uint16_t>(element)) << 16);
  const type_row &row = row_of(dtype);
  return plain_value(row.kind, row.size, element);
}

double tensor_type_npy_value(const npy_array &array, uint64_t index) {
  return plain_value(array.kind, array.item_size, array.data.data() + index * array.item_size);
}

void tensor_type_random(uint32_t dtype, uint64_t seed, uint64_t first, uint64_t count,
                        uint8_t *out) {
  const type_row &row = row_of(dtype);
  auto integer = [&](uint64_t bits) {
    int64_t low = row.kind == 'i' ? -8 : 0;
    return low + static_cast<int64_t>((bits >> 32) * static_cast<uint64_t>(9 - low) >> 32);
  };
  if (dtype == NRT_DTYPE_BFLOAT16)
    fill<uint16_t>(seed, first, count, out, [](uint64_t b) { return to_bf16(normal(b)); });
  else if (!tensor_type_has_values(dtype))  // below 0x60 there is no NaN in any of them
    fill<uint8_t>(seed, first, count, out, [](uint64_t b) {
      return static_cast<uint8_t>((b >> 56 & 0x80) | (b >> 32) % 0x60);
    });
  else if (row.kind == 'f' && row.size == 2)
    fill<uint16_t>(seed, first, count, out, [](uint64_t b) { return to_half(normal(b)); });
  else if (row.kind == 'f')
    fill<float>(seed, first, count, out, normal);
  else if (row.size == 1)
    fill<uint8_t>(seed, first, count, out,
                  [&](uint64_t b) { return static_cast<uint8_t>(integer(b)); });
  else if (row.size == 2)
    fill<uint16_t>(seed, first, count, out,
                   [&](uint64_t b) { return static_cast<uint16_t>(integer(b)); });
  else if (row.size == 4)
    fill<uint32_t>(seed, first, count, out,
                   [&](uint64_t b) { return static_cast<uint32_t>(integer(b)); });
  else
    fill<uint64_t>(seed, first, count, out,
                   [&](uint64_t b) { return static_cast<uint64_t>(integer(b)); });
}
