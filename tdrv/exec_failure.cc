// SPDX-License-Identifier: Apache-2.0
#include "tdrv/exec_failure.h"

#include "base/nlog.h"

namespace {

constexpr uint32_t kListedMax = 8;  // error records told one by one
constexpr uint64_t kNumberBits = 20;
constexpr const char *kEngines[ISA_ENGINE_COUNT] = {"PE", "ACT", "POOL", "DVE", "SP"};

int rank(NRT_STATUS status) {
  switch (status) {
    case NRT_SUCCESS:
      return 0;
    case NRT_EXEC_COMPLETED_WITH_NUM_ERR:
      return 1;
    case NRT_TIMEOUT:
      return 3;
    case NRT_EXEC_OOB:
      return 4;
    case NRT_EXEC_COMPLETED_WITH_ERR:
      return 5;
    case NRT_HW_ERROR:
      return 7;
    case NRT_EXEC_UNIT_UNRECOVERABLE:
      return 8;
    default:
      return status >= NRT_EXEC_HW_ERR_COLLECTIVES ? 6 : 2;
  }
}

struct error_class_t {
  NRT_STATUS status;
  const char *what;
};

error_class_t class_of(uint16_t error) {
  switch (error) {
    case PROJECT_ERROR_UNDERFLOW:
    case PROJECT_ERROR_INFINITY:
    case PROJECT_ERROR_OVERFLOW:
      return {NRT_SUCCESS, ""};
    case PROJECT_ERROR_NAN:
      return {NRT_EXEC_COMPLETED_WITH_NUM_ERR, "a result is not a number"};
    case PROJECT_ERROR_MEMORY:
      return {NRT_EXEC_HW_ERR_NC_UE, "uncorrectable memory error"};
    case PROJECT_ERROR_FAKE:
      return {NRT_EXEC_COMPLETED_WITH_ERR, "fake error"};
    case PROJECT_ERROR_SEMAPHORE:
      return {NRT_EXEC_COMPLETED_WITH_ERR, "semaphore error"};
    case PROJECT_ERROR_EVENT:
      return {NRT_EXEC_COMPLETED_WITH_ERR, "event error"};
    case PROJECT_ERROR_PSUM:
      return {NRT_EXEC_COMPLETED_WITH_ERR, "PSUM error"};
    case PROJECT_ERROR_SEQUENCER:
      return {NRT_EXEC_COMPLETED_WITH_ERR, "the instruction cannot be executed"};
    case PROJECT_ERROR_SEQUENCER_FATAL:
      return {NRT_EXEC_COMPLETED_WITH_ERR, "fatal error of the sequencer"};
    case PROJECT_ERROR_OUT_OF_BOUNDS:
      return {NRT_EXEC_OOB, "a transfer goes beyond its bound"};
    case PROJECT_ERROR_DMA_ABORT:
      return {NRT_EXEC_HW_ERR_DMA_ABORT, "a DMA engine has stopped"};
    case PROJECT_ERROR_DMA_IN_FLIGHT:
      return {NRT_EXEC_COMPLETED_WITH_ERR,
              "the program ended before its transfers: it does not wait for all of them"};
    default:
      return {NRT_EXEC_COMPLETED_WITH_ERR, "unknown error"};
  }
}

// "instruction 12 of ACT's stream": the record carries the low bits of the record's number only, so
// the images of the program decide.
void describe_place(const project_notification_t *record, const program_t *program, char *text,
                    size_t size) {
  uint64_t low = record->pc_low | (record->pc_high_hint & 0xFull) << 16;
  for (uint32_t e = 0; program != nullptr && e < ISA_ENGINE_COUNT; ++e) {
    const program_image_t *image = program_image(program, static_cast<isa_engine_t>(e));
    uint64_t first = image->pa / ISA_RECORD_BYTES;
    uint64_t number = first >> kNumberBits << kNumberBits | low;
    if (number < first)
      number += 1ull << kNumberBits;
    isa_engine_t engine;
    program_section_t section;
    uint32_t slot = 0;
    if (!program_find(program, number * ISA_RECORD_BYTES, &engine, &section, &slot))
      continue;
    const char *where = section == PROGRAM_PREAMBLE    ? "before the program of"
                        : section == PROGRAM_POSTAMBLE ? "after the program of"
                                                       : "instruction";
    auto end =
        section == PROGRAM_PREAMBLE || section == PROGRAM_POSTAMBLE
            ? fmt::format_to_n(text, size - 1, "{} {}", where, kEngines[engine])
            : fmt::format_to_n(text, size - 1, "instruction {} of {}", slot, kEngines[engine]);
    *end.out = '\0';
    return;
  }
  auto end = fmt::format_to_n(text, size - 1, "outside the program, record {:#x}", low);
  *end.out = '\0';
}

}  // namespace

void exec_failure_clear(exec_failure_t *failure) {
  failure->status = NRT_SUCCESS;
  failure->listed = failure->unlisted = 0;
  failure->length = 0;
}

NRT_STATUS exec_status_worse(NRT_STATUS a, NRT_STATUS b) {
  return rank(b) > rank(a) ? b : a;
}

void exec_failure_record(exec_failure_t *failure, const char *core,
                         const project_notification_t *record, const program_t *program) {
  error_class_t error = class_of(record->counter);
  if (error.status == NRT_SUCCESS)
    return;
  exec_failure_status(failure, error.status);
  if (failure->listed == kListedMax) {
    ++failure->unlisted;
    return;
  }
  ++failure->listed;
  char place[64];
  describe_place(record, program, place, sizeof(place));
  if (record->extended_hint >= ISA_ENGINE_COUNT)
    exec_failure_line(failure, "{}: DMA engine {}: {} ({})", core,
                      record->extended_hint - ISA_ENGINE_COUNT, error.what, place);
  else
    exec_failure_line(failure, "{}: {}: {} ({})", core, kEngines[record->extended_hint], error.what,
                      place);
}

NRT_STATUS exec_failure_log(exec_failure_t *failure, const char *what) {
  if (failure->unlisted > 0)
    exec_failure_line(failure, "and {} error records more", failure->unlisted);
  fmt::memory_buffer block;  // a failed run may allocate
  fmt::format_to(std::back_inserter(block), "{}: {}", what,
                 std::string_view(failure->text, failure->length));
  nlog_write_block(NLOG_TDRV, NLOG_LEVEL_ERROR, "exec_model_run", {block.data(), block.size()});
  return failure->status;
}
