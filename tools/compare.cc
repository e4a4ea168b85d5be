// SPDX-License-Identifier: Apache-2.0
#include "tools/compare.h"

#include <fmt/ranges.h>

#include <cmath>
#include <cstring>

namespace {

void note_difference(uint64_t index, double value, double reference, compare_result_t *out) {
  if (out->different++ != 0)
    return;
  out->first = index;
  out->first_value = value;
  out->first_reference = reference;
}

void compare_values(uint64_t index, double value, double reference, double rtol, double atol,
                    compare_result_t *out) {
  if (std::isnan(value) && std::isnan(reference))
    return;
  double error = value == reference ? 0 : std::fabs(value - reference);
  if (!std::isnan(error)) {
    out->max_absolute = std::fmax(out->max_absolute, error);
    if (error != 0)
      out->max_relative = std::fmax(out->max_relative, error / std::fabs(reference));
  }
  if (!(error <= atol + rtol * std::fabs(reference)) || (std::isinf(error) && error != 0))
    note_difference(index, value, reference, out);
}

}  // namespace

NRT_STATUS compare_tensors(uint32_t dtype, std::span<const uint8_t> data,
                           const npy_array &reference, double rtol, double atol,
                           const std::string &where, finding_sink &findings,
                           compare_result_t *out) {
  *out = {};
  uint32_t size = tensor_type_size(dtype);
  uint64_t count = data.size() / size;
  out->elements = count;
  bool same = tensor_type_accepts(dtype, reference);
  if (!tensor_type_has_values(dtype)) {
    if (!same)
      return findings.add(NRT_INVALID, where, "holds {}, {} is compared with {}",
                          npy_descr(reference), tensor_type_name(dtype),
                          tensor_type_stored_as(dtype));
    if (rtol != 0 || atol != 0)
      return findings.add(NRT_INVALID, where, "{} compares by its bits: without tolerances",
                          tensor_type_name(dtype));
    for (uint64_t i = 0; i < count; i++)
      if (data[i] != reference.data[i])
        note_difference(i, data[i], reference.data[i], out);
    return NRT_SUCCESS;
  }
  if (!same && reference.kind == 'V')
    return findings.add(NRT_INVALID, where, "holds raw bytes, not values of {}",
                        tensor_type_name(dtype));
  for (uint64_t i = 0; i < count; i++)
    compare_values(i, tensor_type_value(dtype, data.data() + i * size),
                   same ? tensor_type_value(dtype, reference.data.data() + i * size)
                        : tensor_type_npy_value(reference, i),
                   rtol, atol, out);
  return NRT_SUCCESS;
}

std::string compare_index_text(uint64_t index, const std::vector<uint64_t> &shape) {
  std::vector<uint64_t> places(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    places[d] = shape[d] != 0 ? index % shape[d] : 0;
    index = shape[d] != 0 ? index / shape[d] : 0;
  }
  return fmt::format("[{}]", fmt::join(places, ", "));
}
