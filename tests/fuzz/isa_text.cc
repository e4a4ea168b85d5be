// SPDX-License-Identifier: Apache-2.0
// The text form of records. 't' and a text: what assembles is printed and assembles to the same
// bytes. 'r', a digit of the engine, 'n' or 'i' for the form, and records: any bytes come back.
#include "isa/isa_text.h"

#include <algorithm>
#include <cstring>

#include "isa/isa_modes.h"
#include "tests/fuzz/support.h"

namespace {

// Printed and read again; the labels are those of the stream.
void round_trip(const std::vector<isa_record> &records, isa_engine_t engine, isa_form_t form) {
  const isa_labels_t labels = isa_text_labels(records, engine, form);
  isa_text_context_t context{engine, form, nullptr, &labels, 0};
  std::string text;
  for (; context.slot <= records.size(); context.slot++) {
    const auto label = labels.find(context.slot);
    if (label != labels.end())
      text += label->second + ":\n";
    if (context.slot < records.size())
      text += isa_text_record(records[context.slot], context) + "\n";
  }
  isa_program_t again;
  isa_text_error_t error{};
  FUZZ_CHECK(isa_assemble(text, {nullptr, engine, form, 1}, &again, &error), "{}:{}: {} in\n{}",
             error.line, error.column, error.what, text);
  const std::vector<isa_record> &got = again.stream[engine];
  FUZZ_CHECK(
      got.size() == records.size() &&
          (got.empty() || memcmp(got.data(), records.data(), got.size() * sizeof(isa_record)) == 0),
      "other bytes from\n{}", text);
}

void check_operands(const isa_record &record, isa_engine_t engine, isa_form_t form) {
  uint32_t offset = 0;
  if (isa_check(&record, engine, form, &offset)) {
    FUZZ_CHECK(offset < ISA_RECORD_BYTES, "offset {}", offset);
    return;
  }
  if (isa_modes_check(&record, &offset))
    FUZZ_CHECK(offset < ISA_RECORD_BYTES, "offset {}", offset);
  isa_operand_t operands[ISA_MAX_OPERANDS];
  const uint32_t n = isa_operands(&record, operands);
  FUZZ_CHECK(n <= ISA_MAX_OPERANDS, "{} operands", n);
  for (uint32_t i = 0; i < n; i++) {
    bool psum = false;
    uint32_t partition = 0, begin = 0, end = 0;
    if (!isa_operand_range(&operands[i], 196608, &psum, &partition, &begin, &end))
      continue;
    FUZZ_CHECK(begin < end && end <= (psum ? ISA_PSUM_PARTITION_BYTES : 196608u) &&
                   partition + operands[i].lanes <= ISA_PARTITIONS,
               "range {} to {} of partition {}", begin, end, partition);
  }
}

void run_records(std::span<const uint8_t> bytes) {
  if (bytes.size() < 2)
    return;
  const auto engine = static_cast<isa_engine_t>(bytes[0] % ISA_ENGINE_COUNT);
  const isa_form_t form = bytes[1] == 'i' ? ISA_FORM_IMAGE : ISA_FORM_NEFF;
  bytes = bytes.subspan(2);
  std::vector<isa_record> records(bytes.size() / sizeof(isa_record));
  if (!records.empty())
    memcpy(records.data(), bytes.data(), records.size() * sizeof(isa_record));
  for (const isa_record &record : records)
    check_operands(record, engine, form);
  round_trip(records, engine, form);
}

void run_text(std::string_view text) {
  isa_program_t program;
  isa_text_error_t error{};
  if (isa_assemble(text, {}, &program, &error)) {
    for (uint32_t e = 0; e < ISA_ENGINE_COUNT; e++) {
      round_trip(program.stream[e], static_cast<isa_engine_t>(e), ISA_FORM_NEFF);
      round_trip(program.stream[e], static_cast<isa_engine_t>(e), ISA_FORM_IMAGE);
    }
    return;
  }
  const auto lines = static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  FUZZ_CHECK(error.line >= 1 && error.line <= lines && error.column >= 1 &&
                 error.column <= text.size() + 1,
             "line {}, column {}", error.line, error.column);
  FUZZ_CHECK(!error.what.empty() && fuzz_is_one_line(error.what), "'{}'", error.what);
  for (const auto &stream : program.stream)
    FUZZ_CHECK(stream.empty(), "records beside a mistake");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  // A block of its own, so that reads past its end are seen.
  std::unique_ptr<char[]> block(new char[size - 1]);
  if (size > 1)
    memcpy(block.get(), data + 1, size - 1);
  if (data[0] == 'r')
    run_records({reinterpret_cast<const uint8_t *>(block.get()), size - 1});
  else
    run_text({block.get(), size - 1});
  return 0;
}
