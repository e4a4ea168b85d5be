// SPDX-License-Identifier: Apache-2.0
#include "tools/sample_program.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "isa/isa_text.h"

namespace {

// Bytes of a partition of the state buffer.
constexpr uint32_t kX = 0x4000, kWeights = 0x4080, kY = 0x40C0;
constexpr uint32_t kXWide = 0x41C0, kWeightsWide = 0x42C0, kOut = 0x4340;
constexpr uint64_t kPitch = ISA_SBUF_PITCH;

// Semaphores: DVE counts on 6, the queues of SP and Pool raise theirs by 16 per block.
constexpr uint32_t kLoads = 8, kStores = 24;

// {columns}: of this core, {times}: how often its weights stand beside each other.
constexpr const char *kText = R"(
.engine sp
        SET_ORDERING
{head}        DMATRIGGER queue="qSPIO0", block=0
        DMATRIGGER queue="qSPIO0", block=1
        DMATRIGGER queue="qSPIO0", block=2
.engine dve
        SET_ORDERING
{head}        CAST src=sbuf[p0, {x}] step(1) count({columns}) fp16, dst=sbuf[p0, {xw}] step(1) count({columns}) fp32, channels=128, wait sem8>=16, +sem6
        CAST src=sbuf[p0, {w}] step(1) count(32) uint8, dst=sbuf[p0, {ww}] step(1) count(32) fp32, channels=128, wait sem10>=16, +sem6
        EVENT_SEMAPHORE wait sem6>=2
        TENSOR_TENSOR src0=sbuf[p0, {xw}] step(1) count({columns}) fp32, src1=sbuf[p0, {y}] step(1) count({columns}) fp32, dst=sbuf[p0, {xw}] step(1) count({columns}) fp32, op=multiply, channels=128, wait sem9>=16, +sem6
        TENSOR_TENSOR src0=sbuf[p0, {xw}] step(1, 32) count(32, {times}) fp32, src1=sbuf[p0, {ww}] step(1, 0) count(32, {times}) fp32, dst=sbuf[p0, {out}] step(1, 32) count(32, {times}) fp32, op=add, channels=128, wait sem6>=3, +sem6
.engine pool
        SET_ORDERING
{head}        DMATRIGGER queue="qPoolIO0", block=0, wait sem6>=4
        NOP wait sem24>=16
.engine pe
        SET_ORDERING
{head}.engine act
        SET_ORDERING
{head})";

struct side_t {
  const char *variable, *dtype;
  uint64_t offset, row_bytes, row_step;
};

void put_side(json_out &json, const std::string &which, const side_t &side) {
  json.field(which, side.variable).field(which + "_dtype", side.dtype);
  json.field(which + "_off", side.offset);
  json.key(which + "_sizes").begin_array().value(side.row_bytes).value(SAMPLE_ROWS).end_array();
  json.key(which + "_steps").begin_array().value(1).value(side.row_step).end_array();
}

void put_block(json_out &json, const char *queue, uint32_t id, uint32_t semaphore,
               const side_t &from, const side_t &to) {
  json.begin_object().key("desc").begin_array().begin_object();
  put_side(json, "from", from);
  json.field("op", "copy");
  put_side(json, "to", to);
  json.field("num_tiling_dimensions", 1).end_object().end_array();
  json.field("id", id).field("queue", queue).field("semaphore", semaphore).end_object();
}

void put_queue(json_out &json, const char *name, const char *owner, uint32_t first) {
  json.key(name).begin_object().field("fabric_path", "main").field("num_queues", 16);
  json.field("owner", owner).key("semaphore_set").begin_array();
  for (uint32_t i = 0; i < 16; i++)
    json.value(first + i);
  json.end_array().field("type", "in").end_object();
}

int sample_x(uint32_t row, uint32_t column) {
  return static_cast<int>((row * 7 + column * 5) % 17) - 8;
}
int sample_y(uint32_t row, uint32_t column) {
  return static_cast<int>((row * 3 + column * 11) % 13) - 6;
}
// fp16 bits of an integer from -8 to 8.
uint16_t half_of(int value) {
  if (value == 0)
    return 0;
  auto magnitude = static_cast<uint32_t>(value < 0 ? -value : value);
  auto exponent = static_cast<uint32_t>(std::bit_width(magnitude)) - 1;
  return static_cast<uint16_t>((value < 0 ? 0x8000 : 0) | (exponent + 15) << 10 |
                               ((magnitude << 10 >> exponent) & 0x3FF));
}
template <typename T>
void append(std::vector<uint8_t> *out, T value) {
  const auto *bytes = reinterpret_cast<const uint8_t *>(&value);
  out->insert(out->end(), bytes, bytes + sizeof(value));
}

}  // namespace

NRT_STATUS sample_program_streams(uint32_t core, uint32_t cores, finding_sink &findings,
                                  sample_streams_t *out) {
  uint32_t columns = SAMPLE_COLUMNS / cores;
  std::string text =
      fmt::format(fmt::runtime(kText), fmt::arg("head", cores == 2 ? "        BRANCH_LABEL\n" : ""),
                  fmt::arg("columns", columns), fmt::arg("times", columns / SAMPLE_WEIGHTS_ROW),
                  fmt::arg("x", kX), fmt::arg("w", kWeights), fmt::arg("y", kY),
                  fmt::arg("xw", kXWide), fmt::arg("ww", kWeightsWide), fmt::arg("out", kOut));
  isa_program_t program;
  isa_text_error_t error;
  if (!isa_assemble(text, {}, &program, &error))
    return findings.add(NRT_FAILURE, fmt::format("program of core {}", core),
                        "line {}, column {}: {}", error.line, error.column, error.what);
  for (uint32_t e = 0; e < ISA_ENGINE_COUNT; e++) {
    const auto *bytes = reinterpret_cast<const uint8_t *>(program.stream[e].data());
    (*out)[e].assign(bytes, bytes + program.stream[e].size() * ISA_RECORD_BYTES);
  }
  return NRT_SUCCESS;
}

void sample_program_queues(json_out &json) {
  put_queue(json, "qPoolIO0", "pool", kStores);
  put_queue(json, "qSPIO0", "sp", kLoads);
}

void sample_program_blocks(json_out &json, isa_engine_t engine, uint32_t core, uint32_t cores) {
  uint64_t columns = SAMPLE_COLUMNS / cores, first = core * columns;
  if (engine == ISA_ENGINE_SP) {
    put_block(json, "qSPIO0", 0, kLoads,
              {"x", "float16", first * 2, columns * 2, SAMPLE_COLUMNS * 2},
              {"SB", "float16", kX, columns * 2, kPitch});
    put_block(json, "qSPIO0", 1, kLoads + 1, {"y", "float32", first * 4, columns * 4, 0},
              {"SB", "float32", kY, columns * 4, kPitch});
    put_block(json, "qSPIO0", 2, kLoads + 2,
              {"weights", "uint8", 0, SAMPLE_WEIGHTS_ROW, SAMPLE_WEIGHTS_ROW},
              {"SB", "uint8", kWeights, SAMPLE_WEIGHTS_ROW, kPitch});
  }
  if (engine == ISA_ENGINE_POOL)
    put_block(json, "qPoolIO0", 0, kStores, {"SB", "float32", kOut, columns * 4, kPitch},
              {"output0", "float32", first * 4, columns * 4, SAMPLE_COLUMNS * 4});
}

sample_data_t sample_program_data(const std::vector<std::vector<uint8_t>> &weights) {
  sample_data_t data;
  auto columns = static_cast<uint32_t>(SAMPLE_COLUMNS / weights.size());
  for (uint32_t row = 0; row < SAMPLE_ROWS; row++)
    for (uint32_t column = 0; column < SAMPLE_COLUMNS; column++) {
      append(&data.x, half_of(sample_x(row, column)));
      uint32_t place = column % columns % SAMPLE_WEIGHTS_ROW;
      int weight = weights[column / columns][row * SAMPLE_WEIGHTS_ROW + place];
      append(&data.output,
             static_cast<float>(sample_x(row, column) * sample_y(0, column) + weight));
    }
  for (uint32_t row = 0; row < 4; row++)
    for (uint32_t column = 0; column < SAMPLE_COLUMNS; column++)
      append(&data.y, static_cast<float>(sample_y(row, column)));
  return data;
}
