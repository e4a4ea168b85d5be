// SPDX-License-Identifier: Apache-2.0
// The 64-byte instruction records of a NeuronCore (neuroncore-isa.md, verified-facts.md G1 to G7,
// verified-attention.md 6). One definition for the translator, the simulator, the disassembler and
// the assembler: the structures here are the layout, the tables in isa_table.h name their fields.
// All records are little endian; bytes that no field covers are zero.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

constexpr uint32_t ISA_RECORD_BYTES = 64;
constexpr uint32_t ISA_HEADER_WORDS = 0x10;     // byte 1 of most records: length in 32-bit words
constexpr uint32_t ISA_GENERAL_REGISTERS = 64;  // of an engine; the numbers above are special ones

// Engines, in the order of al_hal_tpb_eng_type.
enum isa_engine_t : uint32_t {
  ISA_ENGINE_PE = 0,
  ISA_ENGINE_ACT = 1,
  ISA_ENGINE_POOL = 2,
  ISA_ENGINE_DVE = 3,
  ISA_ENGINE_SP = 4,
  ISA_ENGINE_COUNT = 5,
};

enum isa_opcode_t : uint8_t {
  ISA_LDWEIGHTS = 0x01,
  ISA_MATMUL = 0x02,
  ISA_ACTIVATE = 0x21,
  ISA_ACT_TABLE_LOAD = 0x23,
  ISA_TENSOR_TENSOR = 0x41,
  ISA_TENSOR_REDUCE = 0x42,
  ISA_TENSOR_SCALAR = 0x43,
  ISA_COPY = 0x46,
  ISA_CAST = 0x47,
  ISA_RECIPROCAL = 0x48,
  ISA_MEMSET = 0x49,
  ISA_IOTA = 0x7E,
  ISA_AFFINE_SELECT = 0x92,
  ISA_EVENT_SEMAPHORE = 0xA0,
  ISA_HALT = 0xA1,
  ISA_DRAIN = 0xA2,
  ISA_NOP = 0xA4,
  ISA_WRITE = 0xA5,
  ISA_NOTIFY = 0xA6,
  ISA_MOVE = 0xA7,
  ISA_ALU_OP = 0xA8,
  ISA_COMPARE_BRANCH = 0xA9,
  ISA_TENSOR_LOAD = 0xAA,
  ISA_TENSOR_STORE = 0xAB,
  ISA_SEM_RANGE_CLEAR = 0xB0,
  ISA_SET_ORDERING = 0xB1,
  ISA_DMAMEMCPY = 0xB8,  // what 0xD4 becomes
  // Pseudo records: in NEFF streams only, never in a loaded image.
  ISA_PSEUDO_DMATRIGGER = 0xC1,
  ISA_PSEUDO_BRANCH_LABEL = 0xCC,
  ISA_PSEUDO_TENSOR_STORE = 0xCD,
  ISA_PSEUDO_TENSOR_LOAD = 0xCE,
  ISA_PSEUDO_DMA_DIRECT2D = 0xD4,
  ISA_PSEUDO_DMA_BOUND = 0xDA,  // belongs to the 0xD4 before it
  ISA_PSEUDO_INST = 0xDF,
};

enum isa_wait_mode_t : uint8_t {
  ISA_WAIT_NONE = 0,
  ISA_WAIT_SEM_EQ = 1,
  ISA_WAIT_SEM_LT = 2,
  ISA_WAIT_SEM_LE = 3,
  ISA_WAIT_SEM_GT = 4,
  ISA_WAIT_SEM_GE = 5,
  ISA_WAIT_EVENT_SET = 6,
  ISA_WAIT_EVENT_SET_CLEAR = 7,  // set, then clears it
  ISA_WAIT_EVENT_CLEAR = 0x0E,
  ISA_WAIT_EVENT_CLEAR_SET = 0x0F,  // clear, then sets it
  ISA_WAIT_REGISTER = 0x80,         // added to 1..5: the value is a register number
};

// When the sources have been read (low group) or at completion (+ISA_UPDATE_COMPLETE).
enum isa_update_mode_t : uint8_t {
  ISA_UPDATE_NONE = 0,
  ISA_UPDATE_EVENT_SET = 0x01,
  ISA_UPDATE_EVENT_CLEAR = 0x02,
  ISA_UPDATE_SEM_INC = 0x03,  // by 1, whatever the value field says
  ISA_UPDATE_SEM_DEC = 0x04,
  ISA_UPDATE_SEM_ADD = 0x05,
  ISA_UPDATE_SEM_SUB = 0x07,
  ISA_UPDATE_SEM_WRITE = 0x09,
  ISA_UPDATE_COMPLETE = 0x10,
  ISA_UPDATE_REGISTER = 0x80,  // added: the value is a register number
};

enum isa_dtype_t : uint8_t {
  ISA_DTYPE_INVALID = 0,
  ISA_DTYPE_UINT64 = 1,
  ISA_DTYPE_INT8 = 2,
  ISA_DTYPE_UINT8 = 3,
  ISA_DTYPE_INT16 = 4,
  ISA_DTYPE_UINT16 = 5,
  ISA_DTYPE_BF16 = 6,
  ISA_DTYPE_FP16 = 7,
  ISA_DTYPE_INT32 = 8,
  ISA_DTYPE_UINT32 = 9,
  ISA_DTYPE_FP32 = 0xA,
  ISA_DTYPE_FP32R = 0xB,
  ISA_DTYPE_INT64 = 0xC,
  ISA_DTYPE_FP8E3 = 0xD,
  ISA_DTYPE_FP8E4 = 0xE,
  ISA_DTYPE_FP8E5 = 0xF,
};
constexpr uint32_t isa_dtype_size(uint8_t dtype) {  // bytes; 0: no such type
  constexpr uint8_t size[16] = {0, 8, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 8, 1, 1, 1};
  return dtype < 16 ? size[dtype] : 0;
}

enum isa_alu_op_t : uint8_t {
  ISA_ALU_BYPASS = 0x00,
  ISA_ALU_NOT = 0x01,
  ISA_ALU_SHL_ARITHMETIC = 0x02,
  ISA_ALU_SHR_ARITHMETIC = 0x03,
  ISA_ALU_ADD = 0x04,
  ISA_ALU_SUBTRACT = 0x05,
  ISA_ALU_MULTIPLY = 0x06,
  ISA_ALU_DIVIDE = 0x07,
  ISA_ALU_MAX = 0x08,
  ISA_ALU_MIN = 0x09,
  ISA_ALU_AND = 0x0A,
  ISA_ALU_OR = 0x0B,
  ISA_ALU_XOR = 0x0C,
  ISA_ALU_LOGICAL_AND = 0x0D,
  ISA_ALU_LOGICAL_OR = 0x0E,
  ISA_ALU_LOGICAL_XOR = 0x0F,
  ISA_ALU_SHL_LOGICAL = 0x10,
  ISA_ALU_SHR_LOGICAL = 0x11,
  ISA_ALU_EQ = 0x12,
  ISA_ALU_GT = 0x13,
  ISA_ALU_GE = 0x14,
  ISA_ALU_LE = 0x15,
  ISA_ALU_LT = 0x16,
  ISA_ALU_ABS_DIFFERENCE = 0x17,
  ISA_ALU_NE = 0x18,
  ISA_ALU_ABS = 0x19,
  ISA_ALU_POW = 0x1A,
  ISA_ALU_MOD = 0x1B,
  ISA_ALU_RSQRT = 0x1D,
};

// --- addresses -----------------------------------------------------------------------------------

// ADDR4: the address space of an engine (neuroncore-isa.md 1.2, 1.3).
constexpr uint32_t ISA_SBUF_PITCH = 1u << 18;  // bytes from one partition to the next
constexpr uint32_t ISA_PSUM_PITCH = 1u << 15;
constexpr uint32_t ISA_PSUM_BASE = 0x02000000;
constexpr uint32_t ISA_PARTITIONS = 128;
constexpr uint32_t ISA_PSUM_PARTITION_BYTES = 0x4000;
constexpr uint32_t ISA_PSUM_BANK_BYTES = 0x800;
constexpr uint32_t ISA_ADDR4_ADDRESS = 0x1FFFFFFF;
constexpr uint32_t ISA_ADDR4_INDIRECT = 1u << 29;
constexpr uint32_t ISA_ADDR4_SHAPE_REGISTER = 1u << 30;
constexpr uint32_t ISA_ADDR4_REGISTER = 1u << 31;  // byte 0 is a register number
inline bool isa_addr4_is_psum(uint32_t addr4) {
  return (addr4 & ISA_PSUM_BASE) != 0;
}

// ADDR8: byte 7 says what the other bytes are (verified-facts.md G2).
enum isa_addr8_mode_t : uint8_t {
  ISA_ADDR8_DEVICE = 0x00,          // device address; bits 55 to 0... see isa_addr8_mode
  ISA_ADDR8_VARIABLE = 0x10,        // id, offset (unlowered streams)
  ISA_ADDR8_TABLE = 0x20,           // index into the DGE table, unsigned 32-bit byte offset
  ISA_ADDR8_TABLE_REGISTER = 0x28,  // index into the DGE table, register number
};
struct isa_addr8 {
  uint32_t offset;  // byte offset, or the register number in its low byte
  uint8_t id[3];    // variable id, or index into the DGE table
  uint8_t mode;     // isa_addr8_mode_t; a device address has 0 here (device addresses use 56 bits)
};
static_assert(sizeof(isa_addr8) == 8);
inline uint32_t isa_addr8_id(const isa_addr8 &a) {
  return a.id[0] | a.id[1] << 8 | static_cast<uint32_t>(a.id[2]) << 16;
}
inline void isa_addr8_set_id(isa_addr8 *a, uint32_t id) {
  for (int i = 0; i < 3; i++)
    a->id[i] = static_cast<uint8_t>(id >> 8 * i);
}
inline uint64_t isa_addr8_device(const isa_addr8 &a) {
  return a.offset | static_cast<uint64_t>(isa_addr8_id(a)) << 32 |
         static_cast<uint64_t>(a.mode) << 56;
}
inline void isa_addr8_set_device(isa_addr8 *a, uint64_t address) {
  a->offset = static_cast<uint32_t>(address);
  isa_addr8_set_id(a, static_cast<uint32_t>(address >> 32 & 0xFFFFFF));
  a->mode = static_cast<uint8_t>(address >> 56);
}

// Access patterns: steps in elements, index 0 fastest; the step of a dimension of count 1 is
// ignored. Lane i starts i pitches behind lane 0.
struct isa_pattern1 {
  uint32_t addr4;
  int16_t step[1];
  uint16_t count[1];
};
struct isa_pattern2 {
  uint32_t addr4;
  int16_t step[2];
  uint16_t count[2];
};
struct isa_pattern3 {
  uint32_t addr4;
  int16_t step[3];
  uint16_t count[3];
};
struct isa_pattern4 {
  uint32_t addr4;
  int16_t step[4];
  uint16_t count[4];
};
static_assert(sizeof(isa_pattern1) == 8 && sizeof(isa_pattern2) == 12 &&
              sizeof(isa_pattern3) == 16 && sizeof(isa_pattern4) == 20);
struct isa_data4 {  // values instead of addresses: base + sum of index * step
  int32_t base;
  int16_t step[4];
  uint16_t count[4];
};
static_assert(sizeof(isa_data4) == 20);

// --- records -------------------------------------------------------------------------------------

struct isa_header {
  uint8_t opcode;
  uint8_t words;  // length in 32-bit words: don't care
  uint8_t debug_command;
  uint8_t debug_hint;
  uint8_t wait_mode, wait_index;
  uint8_t update_mode, update_index;
  uint32_t value;  // of the wait and of the update
};
static_assert(sizeof(isa_header) == 12);

// Any record; also those of header and events only: A1, A2 (count), A4, B1, CC.
struct isa_record {
  isa_header h;
  uint8_t bytes[52];
};

// Row and column groups of the PE array: a bit per quarter.
constexpr uint32_t ISA_PE_QUARTER = 32;
constexpr uint32_t ISA_PE_MOVING = 512;                 // elements of the moving operand per lane
constexpr uint32_t isa_pe_group_first(uint8_t group) {  // row or column; a group has a bit set
  return static_cast<uint32_t>(std::countr_zero(group)) * ISA_PE_QUARTER;
}
constexpr uint32_t isa_pe_group_size(uint8_t group) {
  return static_cast<uint32_t>(std::popcount(group)) * ISA_PE_QUARTER;
}

struct isa_ldweights {  // 01
  isa_header h;
  uint32_t zero12;
  isa_pattern3 src;  // SBUF
  uint8_t dtype;
  uint8_t fp32_mode;
  uint8_t transpose;
  uint8_t performance;
  uint8_t quant_offset[2];
  uint8_t rows;     // K: lanes read
  uint8_t columns;  // M: elements per lane
  uint8_t zero40[4];
  uint8_t row_group, column_group;
  uint8_t crossbar;
  uint8_t zero47[17];
};

enum isa_matmul_flags_t : uint8_t { ISA_MATMUL_BEGIN = 1, ISA_MATMUL_END = 2, ISA_MATMUL_ADD = 4 };
struct isa_matmul {  // 02
  isa_header h;
  uint32_t zero12;
  isa_pattern3 src;  // moving; SBUF
  uint8_t dtype;
  uint8_t fp32_mode;
  uint8_t transpose;
  uint8_t performance;
  uint8_t quant_offset[2];
  uint8_t rows;       // K
  uint8_t columns;    // M: destination lanes
  uint8_t out_dtype;  // v4
  uint8_t zero41[2];
  uint8_t flags;  // isa_matmul_flags_t
  uint8_t row_group, column_group;
  uint8_t crossbar;
  uint8_t zero_region;
  isa_pattern3 dst;  // PSUM
};

enum isa_source_t : uint8_t { ISA_SOURCE_IMMEDIATE = 0, ISA_SOURCE_POINTER = 1 };
enum isa_bias_source_t : uint8_t { ISA_BIAS_POINTER = 0, ISA_BIAS_IMMEDIATE = 1 };
struct isa_activate {  // 21
  isa_header h;
  uint8_t immediate_source;  // 1 with function 128: ignored
  uint8_t scale_source;      // isa_source_t
  uint8_t accumulator;
  uint8_t bias_source;  // isa_bias_source_t
  isa_pattern3 src;
  uint8_t in_bias_dtype;  // low nibble input, high nibble bias
  uint8_t out_dtype;
  uint8_t channels;
  uint8_t function;
  uint32_t scale;  // fp32 bits, or ADDR4 of one fp32 per lane
  uint32_t bias;   // fp32 bits, or ADDR4 of one value per lane
  uint32_t extra;
  isa_pattern3 dst;
};

// Leaky and parametric relu, derivative of leaky relu: `extra` is their slope.
enum isa_function_t : uint8_t {
  ISA_FUNCTION_LEAKY_RELU = 3,
  ISA_FUNCTION_PARAMETRIC_RELU = 4,
  ISA_FUNCTION_LEAKY_DERIVATIVE = 13,
};
constexpr bool isa_activate_has_slope(uint8_t function) {
  return function == ISA_FUNCTION_LEAKY_RELU || function == ISA_FUNCTION_PARAMETRIC_RELU ||
         function == ISA_FUNCTION_LEAKY_DERIVATIVE;
}

struct isa_act_table_load {  // 23
  isa_header h;
  uint8_t zero12[23];
  uint8_t set;  // index into the NEFF's own activation_function_sets
  uint8_t zero36[28];
};

struct isa_tensor_tensor {  // 41
  isa_header h;
  uint8_t in_dtypes;  // low nibble src0, high nibble src1
  uint8_t out_dtype;
  uint8_t op;
  uint8_t channels;
  isa_pattern3 src0;  // left operand
  isa_pattern3 src1;
  isa_pattern3 dst;
};

struct isa_tensor_scalar {  // 43
  isa_header h;
  uint8_t accumulator;
  uint8_t zero13[3];
  isa_pattern3 src;
  uint8_t in_dtype, out_dtype;
  uint8_t channels;
  uint8_t imm0_source;  // isa_source_t
  uint8_t op0, op1;
  uint8_t reverse;  // bit 0: op0's operands swapped, bit 1: op1's
  uint8_t imm1_source;
  uint32_t imm0, imm1;  // fp32 bits, or ADDR4 of one fp32 per lane
  isa_pattern3 dst;
};

struct isa_copy {  // 42, 46, 47, 48
  isa_header h;
  isa_pattern4 src;
  uint8_t in_dtype, out_dtype;
  uint8_t channels;
  uint8_t negate;
  uint8_t op;         // 42
  uint8_t dimension;  // 42: 2 X, 3 XY, 4 XYZ, 5 XYZW
  uint8_t mask_enable;
  uint8_t zero39[5];
  isa_pattern4 dst;
};

struct isa_memset {  // 49
  isa_header h;
  uint8_t zero12[16];
  uint32_t count;  // elements per lane
  uint8_t dtype;
  uint8_t zero33;
  uint8_t channels;
  uint8_t zero35[5];
  uint32_t value;  // raw bits of the type
  isa_pattern4 dst;
};

struct isa_iota {  // 7E
  isa_header h;
  isa_data4 pattern;
  uint8_t zero32;
  uint8_t out_dtype;
  uint8_t channels;
  uint8_t zero35;
  int32_t channel_multiplier;
  uint8_t zero40[4];
  isa_pattern4 dst;
};

enum isa_select_compare_t : uint8_t {
  ISA_SELECT_GT = 0,
  ISA_SELECT_GE = 1,
  ISA_SELECT_EQ = 2,
  ISA_SELECT_NE = 3
};
struct isa_affine_select {  // 92
  isa_header h;
  uint8_t channels;
  uint8_t dtypes;         // low nibble source, high nibble destination
  uint8_t compare;        // isa_select_compare_t
  uint8_t fill_register;  // holds fp32 bits whatever the types
  isa_data4 mask;
  isa_pattern2 src;
  isa_pattern2 dst;
  int32_t channel_multiplier;
};

struct isa_event_semaphore {  // A0: header and a second block; both waits must hold
  isa_header h;
  uint8_t zero12[20];
  uint8_t wait_mode, wait_index;
  uint8_t update_mode, update_index;
  uint32_t wait_value;
  uint32_t update_value;
  uint8_t zero44[20];
};

struct isa_drain {  // A2
  isa_header h;
  uint8_t zero12[28];
  uint32_t count;
  uint8_t zero44[20];
};

struct isa_write {  // A5: up to two stores
  isa_header h;
  uint8_t size[2];  // bytes; 0 = absent
  uint8_t zero14[2];
  isa_addr8 address[2];
  uint64_t value[2];
  uint8_t zero48[16];
};

struct isa_move {  // A7
  isa_header h;
  uint8_t count;  // 1 to 8
  uint8_t dtype;
  uint8_t source;  // 0 registers, 1 immediates
  uint8_t zero15;
  uint8_t src[8];
  uint8_t dst[8];
  uint32_t immediate[8];
};

struct isa_alu {  // A8
  isa_header h;
  uint8_t op;
  uint8_t dtype;
  uint8_t src1_source;  // 0 register, 1 immediate
  uint8_t dst_dtype;    // 0 = same
  uint8_t src0_low, src0_high;
  uint8_t src1_low, src1_high;
  uint8_t dst_low, dst_high;
  uint8_t zero22[2];
  uint64_t immediate;
  uint8_t zero32[32];
};

enum isa_branch_target_t : uint8_t {
  ISA_TARGET_REGISTERS = 1,  // device address in a register pair
  ISA_TARGET_RELATIVE = 3,   // bytes from the record itself
  ISA_TARGET_RELATIVE_REGISTER = 4,
};
enum isa_branch_compare_t : uint8_t {
  ISA_BRANCH_ALWAYS = 0,
  ISA_BRANCH_LT = 1,  // register against immediate, signed for signed types
  ISA_BRANCH_LE = 2,
  ISA_BRANCH_EQ = 3,
  ISA_BRANCH_NE = 4,
  ISA_BRANCH_GE = 5,
  ISA_BRANCH_GT = 6,
  ISA_BRANCH_REGISTERS = 8,  // added: register against register
};
struct isa_compare_branch {  // A9
  isa_header h;
  uint8_t compare;
  uint8_t dtype;
  uint8_t target;
  uint8_t zero15;
  uint64_t immediate;
  uint8_t zero24[8];
  uint8_t reg[2];
  uint8_t target_reg[2];
  uint8_t zero36[12];
  int32_t offset;
  uint8_t zero52[12];
};

struct isa_tensor_move {  // AA, AB; CD, CE with a variable in place of the address
  isa_header h;
  uint8_t dtype;
  uint8_t kind;  // AA: 0 to registers; AB: 0 from registers, 1 from 8 immediates
  uint8_t count[2];
  union {
    isa_addr8 address;
    struct {  // CD, CE
      uint32_t var_id;
      uint32_t var_offset;  // state buffer: partition << 18 | byte
    };
  };
  int32_t step[2];  // elements
  union {
    uint8_t reg[32];
    uint32_t immediate[8];
  };
};

struct isa_sem_range_clear {  // B0
  isa_header h;
  uint8_t mode;  // 1 range, 2 bit mask
  uint8_t first, last;
  uint8_t zero15[17];
  uint8_t mask[32];
};

struct isa_dma {  // D4 and, with device addresses, B8
  isa_header h;
  uint8_t config;
  uint8_t semaphore;
  uint8_t increment;
  uint8_t compute_op;
  isa_addr8 src;
  int32_t src_step[2];           // bytes
  uint16_t src_count[2];         // index 0 fastest
  uint16_t src_bytes;            // per row; 0 = 65536
  uint8_t src_bound, dst_bound;  // 0 none; else bit 7 valid, bit 6 skip, bits 5-0 register
  isa_addr8 dst;
  int32_t dst_step[2];
  uint16_t dst_count[2];
  uint16_t dst_bytes;
  uint8_t src_dtype, dst_dtype;
};
constexpr uint32_t isa_dma_row_bytes(uint16_t field) {
  return field == 0 ? 65536 : field;
}
constexpr uint8_t ISA_DMA_BOUND_VALID = 0x80, ISA_DMA_BOUND_SKIP = 0x40,
                  ISA_DMA_BOUND_REGISTER = 0x3F;

struct isa_dma_bound {  // DA: belongs to the D4 before it; byte 1 is 0
  isa_header h;
  uint32_t src_size;  // bytes of the source variable
  uint32_t dst_size;
  uint8_t zero20[44];
};

struct isa_dma_trigger {  // C1
  isa_header h;
  char queue[32];  // zero-terminated
  uint8_t zero44[4];
  uint32_t block;
  uint8_t zero52[12];
};

struct isa_pseudo_inst {  // DF
  isa_header h;
  uint8_t sub_op;  // 1 exit, 2 library reload
  uint8_t zero13[51];
};

// A6. Operands are not public: a project encoding (isa/project.h says what the values mean).
struct isa_notify {
  isa_header h;
  uint8_t queue;  // hardware notification queue of the core
  uint8_t type;   // record byte 3, bits 4-0
  uint16_t extended_hint;
  uint8_t zero16[48];
};

#define ISA_RECORD_SIZE(type) static_assert(sizeof(type) == ISA_RECORD_BYTES)
ISA_RECORD_SIZE(isa_record);
ISA_RECORD_SIZE(isa_ldweights);
ISA_RECORD_SIZE(isa_matmul);
ISA_RECORD_SIZE(isa_activate);
ISA_RECORD_SIZE(isa_act_table_load);
ISA_RECORD_SIZE(isa_tensor_tensor);
ISA_RECORD_SIZE(isa_tensor_scalar);
ISA_RECORD_SIZE(isa_copy);
ISA_RECORD_SIZE(isa_memset);
ISA_RECORD_SIZE(isa_iota);
ISA_RECORD_SIZE(isa_affine_select);
ISA_RECORD_SIZE(isa_event_semaphore);
ISA_RECORD_SIZE(isa_drain);
ISA_RECORD_SIZE(isa_write);
ISA_RECORD_SIZE(isa_move);
ISA_RECORD_SIZE(isa_alu);
ISA_RECORD_SIZE(isa_compare_branch);
ISA_RECORD_SIZE(isa_tensor_move);
ISA_RECORD_SIZE(isa_sem_range_clear);
ISA_RECORD_SIZE(isa_dma);
ISA_RECORD_SIZE(isa_dma_bound);
ISA_RECORD_SIZE(isa_dma_trigger);
ISA_RECORD_SIZE(isa_pseudo_inst);
ISA_RECORD_SIZE(isa_notify);

static_assert(offsetof(isa_matmul, flags) == 43 && offsetof(isa_matmul, dst) == 48);
static_assert(offsetof(isa_ldweights, rows) == 38 && offsetof(isa_ldweights, row_group) == 44);
static_assert(offsetof(isa_activate, function) == 35 && offsetof(isa_activate, bias) == 40);
static_assert(offsetof(isa_act_table_load, set) == 35);
static_assert(offsetof(isa_tensor_scalar, imm0_source) == 35 &&
              offsetof(isa_tensor_scalar, imm0) == 40);
static_assert(offsetof(isa_copy, in_dtype) == 32 && offsetof(isa_copy, dst) == 44);
static_assert(offsetof(isa_memset, count) == 28 && offsetof(isa_memset, value) == 40);
static_assert(offsetof(isa_iota, out_dtype) == 33 && offsetof(isa_iota, channel_multiplier) == 36);
static_assert(offsetof(isa_affine_select, src) == 36 &&
              offsetof(isa_affine_select, channel_multiplier) == 60);
static_assert(offsetof(isa_event_semaphore, wait_mode) == 32 &&
              offsetof(isa_event_semaphore, update_value) == 40);
static_assert(offsetof(isa_drain, count) == 40);
static_assert(offsetof(isa_write, address) == 16 && offsetof(isa_write, value) == 32);
static_assert(offsetof(isa_move, src) == 16 && offsetof(isa_move, immediate) == 32);
static_assert(offsetof(isa_alu, src0_low) == 16 && offsetof(isa_alu, immediate) == 24);
static_assert(offsetof(isa_compare_branch, reg) == 32 &&
              offsetof(isa_compare_branch, offset) == 48);
static_assert(offsetof(isa_tensor_move, step) == 24 && offsetof(isa_tensor_move, reg) == 32);
static_assert(offsetof(isa_sem_range_clear, mask) == 32);
static_assert(offsetof(isa_dma, src_bytes) == 36 && offsetof(isa_dma, dst) == 40 &&
              offsetof(isa_dma, dst_bytes) == 60 && offsetof(isa_dma, src_dtype) == 62);
static_assert(offsetof(isa_dma_trigger, block) == 48);
