// SPDX-License-Identifier: Apache-2.0
// Inputs from files, zeros or random numbers; outputs to files and against references.
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <thread>

#include "tools/run.h"

namespace {

constexpr size_t kPiece = 64u << 20;  // bytes written to a tensor at a time
constexpr std::string_view kRaw = "raw:";

std::string shape_text(const std::vector<uint64_t> &shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

NRT_STATUS put(const run_tensor_t &tensor, std::span<const uint8_t> data, finding_sink &findings) {
  tool_progress progress("writing " + tensor.name);
  for (size_t at = 0; at < data.size(); at += kPiece) {
    size_t size = std::min(kPiece, data.size() - at);
    NRT_STATUS status = nrt_tensor_write(tensor.handle, data.data() + at, at, size);
    if (status != NRT_SUCCESS)
      return run_explain(status, tensor.name, findings);
    progress.update(at + size, data.size());
  }
  return NRT_SUCCESS;
}

NRT_STATUS put_raw(const run_tensor_t &tensor, const std::string &file, finding_sink &findings) {
  neff_file_bytes bytes;
  NRT_STATUS status = tool_read(file, findings, &bytes);
  if (status != NRT_SUCCESS)
    return status;
  if (bytes.size != tensor.size)
    return findings.add(NRT_INVALID, file, "{} bytes; '{}' has {}", bytes.size, tensor.name,
                        tensor.size);
  return put(tensor, bytes.span(), findings);
}

NRT_STATUS read_npy(const std::string &file, finding_sink &findings, neff_file_bytes *bytes,
                    npy_array *array) {
  NRT_STATUS status = tool_read(file, findings, bytes);
  return status == NRT_SUCCESS ? npy_read(bytes->span(), file, findings, array) : status;
}

NRT_STATUS check_shape(const run_tensor_t &tensor, const npy_array &array, const std::string &file,
                       finding_sink &findings) {
  if (array.shape == tensor.shape)
    return NRT_SUCCESS;
  return findings.add(NRT_INVALID, file, "shape {}; '{}' has {}", shape_text(array.shape),
                      tensor.name, shape_text(tensor.shape));
}

NRT_STATUS put_npy(const run_tensor_t &tensor, const std::string &file, finding_sink &findings) {
  neff_file_bytes bytes;
  npy_array array;
  NRT_STATUS status = read_npy(file, findings, &bytes, &array);
  if (status != NRT_SUCCESS)
    return status;
  if (!tensor_type_accepts(tensor.dtype, array))
    return findings.add(NRT_INVALID, file, "elements {}; '{}' is {}: {} is read", npy_descr(array),
                        tensor.name, tensor_type_name(tensor.dtype),
                        tensor_type_stored_as(tensor.dtype));
  status = check_shape(tensor, array, file, findings);
  return status == NRT_SUCCESS ? put(tensor, array.data, findings) : status;
}

// Another tensor, another sequence.
uint64_t seed_of(const std::string &name, uint64_t seed) {
  for (char c : name)
    seed = (seed ^ static_cast<uint8_t>(c)) * 0x100000001B3 + 0x9E3779B9;
  return seed;
}

NRT_STATUS put_random(const run_tensor_t &tensor, uint64_t seed, finding_sink &findings) {
  uint64_t element = tensor_type_size(tensor.dtype);
  auto piece = static_cast<size_t>(std::min<uint64_t>(kPiece, tensor.size));
  std::unique_ptr<uint8_t[]> data(new uint8_t[piece]);
  uint64_t cpus = std::max(1u, std::thread::hardware_concurrency());
  tool_progress progress("making " + tensor.name);
  seed = seed_of(tensor.name, seed);
  for (uint64_t at = 0; at < tensor.size; at += piece) {
    uint64_t bytes = std::min<uint64_t>(piece, tensor.size - at);
    uint64_t count = bytes / element, share = (count + cpus - 1) / cpus;
    std::vector<std::thread> threads;
    for (uint64_t first = 0; first < count; first += share)
      threads.emplace_back([&, first] {
        tensor_type_random(tensor.dtype, seed, at / element + first, std::min(share, count - first),
                           data.get() + first * element);
      });
    for (std::thread &thread : threads)
      thread.join();
    NRT_STATUS status = nrt_tensor_write(tensor.handle, data.get(), at, bytes);
    if (status != NRT_SUCCESS)
      return run_explain(status, tensor.name, findings);
    progress.update(at + bytes, tensor.size);
  }
  return NRT_SUCCESS;
}

}  // namespace

bool run_parse_assignment(const std::string &text, run_assignment_t *out) {
  size_t at = text.find('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size())
    return false;
  *out = {text.substr(0, at), text.substr(at + 1)};
  return true;
}

NRT_STATUS run_fill(const run_tensor_t &tensor, const std::string &what, finding_sink &findings) {
  if (what == "zeros")
    return run_explain(nrt_tensor_memset(tensor.handle, 0, 0, tensor.size), tensor.name, findings);
  if (what == "random")
    return put_random(tensor, 0, findings);
  if (what.starts_with("random:")) {
    uint64_t seed = 0;
    if (!tool_parse_u64(what.substr(7), &seed))
      return findings.add(NRT_INVALID, "--input", "'{}': random:SEED takes a number", what);
    return put_random(tensor, seed, findings);
  }
  if (what.starts_with(kRaw))
    return put_raw(tensor, what.substr(kRaw.size()), findings);
  return put_npy(tensor, what, findings);
}

NRT_STATUS run_read(const run_tensor_t &tensor, finding_sink &findings, std::vector<uint8_t> *out) {
  out->resize(tensor.size);
  return run_explain(nrt_tensor_read(tensor.handle, out->data(), 0, tensor.size), tensor.name,
                     findings);
}

NRT_STATUS run_write(const run_tensor_t &tensor, std::span<const uint8_t> data,
                     const std::string &file, finding_sink &findings) {
  if (file.starts_with(kRaw))
    return neff_file_write(file.substr(kRaw.size()), data, findings);
  npy_array array;
  tensor_type_to_npy(tensor.dtype, &array);
  array.shape = tensor.shape;
  array.data = data;
  std::vector<uint8_t> bytes;
  NRT_STATUS status = npy_write(array, file, findings, &bytes);
  return status == NRT_SUCCESS ? neff_file_write(file, bytes, findings) : status;
}

NRT_STATUS run_read_reference(const run_tensor_t &tensor, const std::string &file,
                              finding_sink &findings, run_reference_t *out) {
  out->name = tensor.name;
  out->file = file;
  NRT_STATUS status = read_npy(file, findings, &out->bytes, &out->array);
  return status == NRT_SUCCESS ? check_shape(tensor, out->array, file, findings) : status;
}

NRT_STATUS run_compare(const run_tensor_t &tensor, std::span<const uint8_t> data,
                       const run_reference_t &reference, double rtol, double atol,
                       finding_sink &findings, run_comparison_t *out) {
  *out = {tensor.name, reference.file, tensor.shape, {}};
  return compare_tensors(tensor.dtype, data, reference.array, rtol, atol, reference.file, findings,
                         &out->result);
}

NRT_STATUS run_check_output(const std::string &file, finding_sink &findings) {
  std::string path = file.starts_with(kRaw) ? file.substr(kRaw.size()) : file;
  std::error_code ignored;
  auto type = std::filesystem::status(path, ignored).type();
  if (type == std::filesystem::file_type::directory)
    return findings.add(NRT_INVALID, path, "a directory, not a file to write");
  // Devices and pipes are written to, anything else is made beside itself and renamed.
  bool replaced =
      type == std::filesystem::file_type::regular || type == std::filesystem::file_type::not_found;
  std::string written = replaced ? std::filesystem::path(path).parent_path().string() : path;
  if (access(written.empty() ? "." : written.c_str(), W_OK) == 0)
    return NRT_SUCCESS;
  return findings.add(NRT_INVALID, path, "cannot be created: {}", strerror(errno));
}
