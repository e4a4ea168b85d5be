// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/world.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nrt/nrt_experimental.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/nlog.h"
#include "tests/support/process.h"
#include "uapi/neuron_ioctl.h"
#include "uapi/neuron_shared.h"

namespace {

constexpr int32_t kLooker = 987654;  // a process of its own, so that looking changes nothing
constexpr size_t kTensorSize = 70000;

void dump_chunks(mock_host_t *machine, int fd, std::vector<uint64_t> *out) {
  for (uint32_t hbm = 0; hbm < NEURON_MAX_HBM; hbm++) {
    std::vector<neuron_ioctl_mem_chunk_info> list(4096);
    neuron_ioctl_dump_mem_chunks a = {};
    a.hbm_index = hbm;
    a.num_entries_in = static_cast<uint32_t>(list.size());
    a.data = list.data();
    ASSERT_EQ(mock_ioctl(machine, kLooker, fd, NEURON_IOCTL_DUMP_MEM_CHUNKS, &a), 0);
    for (uint32_t i = 0; i < a.num_entries_out; i++)
      out->insert(out->end(), {list[i].pa, list[i].size, list[i].mem_type});
  }
}

bool is_allocation(uint32_t request) {
  return request == NEURON_IOCTL_MEM_ALLOC || request == NEURON_IOCTL_MEM_ALLOC_V2 ||
         request == NEURON_IOCTL_MEM_ALLOC_V2MT || request == NEURON_IOCTL_MEM_ALLOC_V2MT64 ||
         request == NEURON_IOCTL_NOTIFICATIONS_INIT_WITH_REALLOC_V2;
}

// A call of a sequence: runs while nothing has failed.
#define STEP(expression)           \
  do {                             \
    if (o.status == NRT_SUCCESS) { \
      o.status = (expression);     \
      o.call = #expression;        \
    }                              \
  } while (0)

void use_tensors(outcome_t &o) {
  static uint8_t out[kTensorSize], back[kTensorSize];  // the test itself must not allocate here
  for (size_t i = 0; i < kTensorSize; i++)
    out[i] = static_cast<uint8_t>(i * 13 + i / 256);
  memset(back, 0, sizeof(back));
  nrt_tensor_t *device = nullptr, *other = nullptr, *slice = nullptr, *empty = nullptr;
  STEP(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, kTensorSize, "device", &device));
  STEP(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, kTensorSize, "other", &other));
  STEP(nrt_tensor_allocate_slice(device, 4096, 8192, "slice", &slice));
  STEP(nrt_tensor_allocate_empty("empty", &empty));
  STEP(nrt_tensor_attach_buffer(empty, out, sizeof(out)));
  STEP(nrt_tensor_write(device, out, 0, sizeof(out)));
  STEP(nrt_tensor_copy(device, 0, other, 0, kTensorSize));
  STEP(nrt_tensor_read(other, back, 0, sizeof(back)));
  EXPECT_TRUE(o.status != NRT_SUCCESS || memcmp(out, back, sizeof(out)) == 0);
  if (o.status == NRT_SUCCESS && nrt_tensor_get_va(device) == nullptr)
    o = {NRT_FAILURE, "nrt_tensor_get_va"};
  for (nrt_tensor_t **tensor : {&device, &other, &slice, &empty}) {
    if (*tensor != nullptr)
      nrt_tensor_free(tensor);
  }
}

void use_sets(outcome_t &o) {
  nrt_tensor_set_t *set = nullptr;
  nrt_tensor_t *tensor = nullptr, *found = nullptr;
  STEP(nrt_allocate_tensor_set(&set));
  STEP(nrt_tensor_allocate_empty("in0", &tensor));
  STEP(nrt_add_tensor_to_tensor_set(set, "in0", tensor));
  STEP(nrt_get_tensor_from_tensor_set(set, "in0", &found));
  if (set != nullptr)
    nrt_destroy_tensor_set(&set);
  if (tensor != nullptr)
    nrt_tensor_free(&tensor);
}

void use_info(outcome_t &o, nrt_model_t *model) {
  nrt_tensor_info_array_t *info = nullptr;
  STEP(nrt_get_model_tensor_info(model, &info));
  if (o.status == NRT_SUCCESS)
    nrt_free_model_tensor_info(info);
}

constexpr size_t kLines = 16, kLineSize = 400;
char g_lines[kLines][kLineSize];
std::atomic<size_t> g_line_count{0}, g_errors{0}, g_warnings{0};

void on_line(void *, nlog_component, nlog_level level, const char *function,
             std::string_view text) {
  (level == NLOG_LEVEL_ERROR ? g_errors : g_warnings)++;
  size_t at = g_line_count++;
  if (at < kLines)
    snprintf(g_lines[at], kLineSize, "%s %s: %.*s", level == NLOG_LEVEL_ERROR ? "ERROR" : "WARN",
             function, static_cast<int>(text.size()), text.data());
}

}  // namespace

void fault_log_start() {
  // A file's stream would keep a buffer from its first line on. The standard error has none.
  static const int quiet = [] {
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(null, STDERR_FILENO);
    return close(null);
  }();
  (void)quiet;
  setenv("NEURON_RT_LOG_LEVEL", "WARN", 1);
  setenv("NEURON_RT_ENABLE_DEVICE_MEMORY_OOM_LOG", "0", 1);  // no files
  setenv("NEURON_RT_DEBUG_MEMLOG_MAX_SIZE", "64", 1);        // a ring that grows as events come
  // The mock's thread is made by the first load, and by none that is counted.
  setenv("NEURON_MOCK_THREADS", "1", 1);
  nlog_configure_from_env();
  nlog_set_hook(on_line, nullptr);
  NLOG_ERROR(NLOG_NRT, "the first line makes what all lines need");
  NLOG_WARN(NLOG_NRT, "likewise");
}

void fault_log_clear() {
  g_line_count = 0;
  g_errors = 0;
  g_warnings = 0;
}

size_t fault_log_errors() {
  return g_errors;
}

size_t fault_log_warnings() {
  return g_warnings;
}

std::string fault_log_text() {
  std::string text;
  for (size_t i = 0; i < std::min<size_t>(g_line_count, kLines); i++)
    text += std::string("\n  ") + g_lines[i];
  return text;
}

uint64_t fault_step(uint64_t events, uint64_t few) {
  const char *wish = getenv("OPENNRT_FAULTS");
  bool all = wish != nullptr && strcmp(wish, "all") == 0;
  return all ? 1 : std::max<uint64_t>(1, (events + few - 1) / few);
}

holdings_t holdings_now() {
  holdings_t h;
  h.descriptors = process_descriptors();
  mock_host_t *machine = fault_machine();
  if (machine == nullptr)
    return h;
  for (uint32_t d = 0; d < NEURON_MAX_DEVICES; d++) {
    int fd = mock_open(machine, kLooker, fmt::format("/dev/neuron{}", d).c_str(), O_RDWR);
    if (fd < 0)
      break;
    dump_chunks(machine, fd, &h.chunks);
    mock_close(machine, kLooker, fd);
  }
  return h;
}

std::string holdings_difference(const holdings_t &before, const holdings_t &now) {
  std::string text;
  if (before.chunks != now.chunks)
    text +=
        fmt::format(" chunks: {} words before, {} now;", before.chunks.size(), now.chunks.size());
  if (before.descriptors != now.descriptors)
    text += fmt::format(" descriptors: {} before, {} now;", before.descriptors, now.descriptors);
  return text;
}

outcome_t use_model(const std::vector<uint8_t> &file) {
  outcome_t o;
  nrt_model_t *model = nullptr;
  STEP(nrt_load(file.data(), file.size(), 0, 1, &model));
  use_info(o, model);
  use_tensors(o);
  use_sets(o);
  if (model == nullptr)
    return o;
  NRT_STATUS unloaded = nrt_unload(model);
  return o.status == NRT_SUCCESS ? outcome_t{unloaded, "nrt_unload"} : o;
}

outcome_t load_and_unload(const std::vector<uint8_t> &file) {
  outcome_t o;
  nrt_model_t *model = nullptr;
  STEP(nrt_load(file.data(), file.size(), 0, 1, &model));
  STEP(nrt_unload(model));
  return o;
}

std::string unexpected_status(fault_kind_t kind, int error, const fault_report_t &report,
                              const outcome_t &outcome) {
  std::vector<NRT_STATUS> right = {NRT_FAILURE};
  if (strcmp(outcome.call, "nrt_tensor_get_va") == 0)  // answers NULL, no status
    return "";
  if (kind == FAULT_IOCTL && error == ENOMEM && is_allocation(report.request))
    right = {report.host_memory ? NRT_FAIL_HOST_MEM_ALLOC : NRT_RESOURCE};
  if (kind == FAULT_MEMORY)
    right = {NRT_RESOURCE};
  if (kind == FAULT_MMAP ||
      report.in_driver)  // of a chunk, of the copy buffer in host memory, of the machine itself
    right = {NRT_FAILURE, NRT_FAIL_HOST_MEM_ALLOC, NRT_RESOURCE};
  if (std::find(right.begin(), right.end(), outcome.status) != right.end())
    return "";
  return fmt::format("{} answers {}, must be {}", outcome.call, static_cast<int>(outcome.status),
                     static_cast<int>(right[0]));
}
