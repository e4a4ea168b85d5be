// SPDX-License-Identifier: Apache-2.0
#include "isa/isa_fields.h"

#include <array>
#include <cstring>

#include "isa/isa_table.h"

namespace {

// --- listed values -------------------------------------------------------------------------------

constexpr isa_value_t dtypes[] = {
    {ISA_DTYPE_UINT64, "uint64"}, {ISA_DTYPE_INT8, "int8"},     {ISA_DTYPE_UINT8, "uint8"},
    {ISA_DTYPE_INT16, "int16"},   {ISA_DTYPE_UINT16, "uint16"}, {ISA_DTYPE_BF16, "bf16"},
    {ISA_DTYPE_FP16, "fp16"},     {ISA_DTYPE_INT32, "int32"},   {ISA_DTYPE_UINT32, "uint32"},
    {ISA_DTYPE_FP32, "fp32"},     {ISA_DTYPE_FP32R, "fp32r"},   {ISA_DTYPE_INT64, "int64"},
    {ISA_DTYPE_FP8E3, "fp8e3"},   {ISA_DTYPE_FP8E4, "fp8e4"},   {ISA_DTYPE_FP8E5, "fp8e5"}};
constexpr isa_value_t dtypes_or_none[] = {
    {ISA_DTYPE_INVALID, "none"},  {ISA_DTYPE_UINT64, "uint64"}, {ISA_DTYPE_INT8, "int8"},
    {ISA_DTYPE_UINT8, "uint8"},   {ISA_DTYPE_INT16, "int16"},   {ISA_DTYPE_UINT16, "uint16"},
    {ISA_DTYPE_BF16, "bf16"},     {ISA_DTYPE_FP16, "fp16"},     {ISA_DTYPE_INT32, "int32"},
    {ISA_DTYPE_UINT32, "uint32"}, {ISA_DTYPE_FP32, "fp32"},     {ISA_DTYPE_FP32R, "fp32r"},
    {ISA_DTYPE_INT64, "int64"},   {ISA_DTYPE_FP8E3, "fp8e3"},   {ISA_DTYPE_FP8E4, "fp8e4"},
    {ISA_DTYPE_FP8E5, "fp8e5"}};
constexpr isa_value_t pe_dtypes[] = {{ISA_DTYPE_UINT8, "uint8"}, {ISA_DTYPE_BF16, "bf16"},
                                     {ISA_DTYPE_FP16, "fp16"},   {ISA_DTYPE_FP32, "fp32"},
                                     {ISA_DTYPE_FP32R, "fp32r"}, {ISA_DTYPE_FP8E3, "fp8e3"},
                                     {ISA_DTYPE_FP8E4, "fp8e4"}, {ISA_DTYPE_FP8E5, "fp8e5"}};
constexpr isa_value_t alu_ops[] = {{ISA_ALU_BYPASS, "bypass"},
                                   {ISA_ALU_NOT, "not"},
                                   {ISA_ALU_SHL_ARITHMETIC, "shl_arithmetic"},
                                   {ISA_ALU_SHR_ARITHMETIC, "shr_arithmetic"},
                                   {ISA_ALU_ADD, "add"},
                                   {ISA_ALU_SUBTRACT, "subtract"},
                                   {ISA_ALU_MULTIPLY, "multiply"},
                                   {ISA_ALU_DIVIDE, "divide"},
                                   {ISA_ALU_MAX, "max"},
                                   {ISA_ALU_MIN, "min"},
                                   {ISA_ALU_AND, "and"},
                                   {ISA_ALU_OR, "or"},
                                   {ISA_ALU_XOR, "xor"},
                                   {ISA_ALU_LOGICAL_AND, "logical_and"},
                                   {ISA_ALU_LOGICAL_OR, "logical_or"},
                                   {ISA_ALU_LOGICAL_XOR, "logical_xor"},
                                   {ISA_ALU_SHL_LOGICAL, "shl_logical"},
                                   {ISA_ALU_SHR_LOGICAL, "shr_logical"},
                                   {ISA_ALU_EQ, "eq"},
                                   {ISA_ALU_GT, "gt"},
                                   {ISA_ALU_GE, "ge"},
                                   {ISA_ALU_LE, "le"},
                                   {ISA_ALU_LT, "lt"},
                                   {ISA_ALU_ABS_DIFFERENCE, "abs_difference"},
                                   {ISA_ALU_NE, "ne"},
                                   {ISA_ALU_ABS, "abs"},
                                   {ISA_ALU_POW, "pow"},
                                   {ISA_ALU_MOD, "mod"},
                                   {ISA_ALU_RSQRT, "rsqrt"}};
constexpr isa_value_t waits[] = {{ISA_WAIT_NONE, "none"},
                                 {ISA_WAIT_SEM_EQ, "sem_eq"},
                                 {ISA_WAIT_SEM_LT, "sem_lt"},
                                 {ISA_WAIT_SEM_LE, "sem_le"},
                                 {ISA_WAIT_SEM_GT, "sem_gt"},
                                 {ISA_WAIT_SEM_GE, "sem_ge"},
                                 {ISA_WAIT_EVENT_SET, "event_set"},
                                 {ISA_WAIT_EVENT_SET_CLEAR, "event_set_clear"},
                                 {ISA_WAIT_EVENT_CLEAR, "event_clear"},
                                 {ISA_WAIT_EVENT_CLEAR_SET, "event_clear_set"},
                                 {ISA_WAIT_REGISTER | ISA_WAIT_SEM_EQ, "sem_eq_reg"},
                                 {ISA_WAIT_REGISTER | ISA_WAIT_SEM_LT, "sem_lt_reg"},
                                 {ISA_WAIT_REGISTER | ISA_WAIT_SEM_LE, "sem_le_reg"},
                                 {ISA_WAIT_REGISTER | ISA_WAIT_SEM_GT, "sem_gt_reg"},
                                 {ISA_WAIT_REGISTER | ISA_WAIT_SEM_GE, "sem_ge_reg"}};
constexpr uint8_t at_end = ISA_UPDATE_COMPLETE, from_reg = ISA_UPDATE_REGISTER;
constexpr isa_value_t updates[] = {{ISA_UPDATE_NONE, "none"},
                                   {ISA_UPDATE_EVENT_SET, "read_event_set"},
                                   {ISA_UPDATE_EVENT_CLEAR, "read_event_clear"},
                                   {ISA_UPDATE_SEM_INC, "read_sem_inc"},
                                   {ISA_UPDATE_SEM_DEC, "read_sem_dec"},
                                   {ISA_UPDATE_SEM_ADD, "read_sem_add"},
                                   {ISA_UPDATE_SEM_SUB, "read_sem_sub"},
                                   {ISA_UPDATE_SEM_WRITE, "read_sem_write"},
                                   {at_end | ISA_UPDATE_EVENT_SET, "event_set"},
                                   {at_end | ISA_UPDATE_EVENT_CLEAR, "event_clear"},
                                   {at_end | ISA_UPDATE_SEM_INC, "sem_inc"},
                                   {at_end | ISA_UPDATE_SEM_DEC, "sem_dec"},
                                   {at_end | ISA_UPDATE_SEM_ADD, "sem_add"},
                                   {at_end | ISA_UPDATE_SEM_SUB, "sem_sub"},
                                   {at_end | ISA_UPDATE_SEM_WRITE, "sem_write"},
                                   {from_reg | ISA_UPDATE_SEM_ADD, "read_sem_add_reg"},
                                   {from_reg | ISA_UPDATE_SEM_SUB, "read_sem_sub_reg"},
                                   {from_reg | ISA_UPDATE_SEM_WRITE, "read_sem_write_reg"},
                                   {from_reg | at_end | ISA_UPDATE_SEM_ADD, "sem_add_reg"},
                                   {from_reg | at_end | ISA_UPDATE_SEM_SUB, "sem_sub_reg"},
                                   {from_reg | at_end | ISA_UPDATE_SEM_WRITE, "sem_write_reg"}};
constexpr isa_value_t debug_commands[] = {{0, "none"}, {1, "notify"},    {3, "start"},
                                          {5, "end"},  {7, "start_end"}, {9, "field"}};
constexpr isa_value_t groups[] = {{0xF, "all"}, {0x3, "low_half"}, {0xC, "high_half"}, {0x1, "q0"},
                                  {0x2, "q1"},  {0x4, "q2"},       {0x8, "q3"}};
// v3 and v4 leave 0; the others are v2's (verified-facts.md G10).
constexpr isa_value_t crossbars[] = {{0x00, "0"}, {0x01, "1"},    {0x02, "2"},
                                     {0x04, "4"}, {0x0F, "0x0f"}, {0x10, "0x10"}};
constexpr isa_value_t matmul_flags[] = {{0, "middle"}, {1, "begin"}, {2, "end"},
                                        {3, "alone"},  {4, "add"},   {6, "add_end"}};
constexpr isa_value_t sources[] = {{ISA_SOURCE_IMMEDIATE, "immediate"},
                                   {ISA_SOURCE_POINTER, "pointer"}};
constexpr isa_value_t bias_sources[] = {{ISA_BIAS_POINTER, "pointer"},
                                        {ISA_BIAS_IMMEDIATE, "immediate"}};
constexpr isa_value_t accumulators[] = {
    {0, "idle"}, {1, "zero"}, {2, "accumulate"}, {3, "zero_accumulate"}, {4, "load_accumulate"}};
constexpr isa_value_t dimensions[] = {{2, "x"}, {3, "xy"}, {4, "xyz"}, {5, "xyzw"}};
constexpr isa_value_t select_compares[] = {
    {ISA_SELECT_GT, "gt"}, {ISA_SELECT_GE, "ge"}, {ISA_SELECT_EQ, "eq"}, {ISA_SELECT_NE, "ne"}};
constexpr isa_value_t operand_sources[] = {{0, "register"}, {1, "immediate"}};
constexpr isa_value_t branch_compares[] = {{ISA_BRANCH_ALWAYS, "always"},
                                           {ISA_BRANCH_LT, "lt"},
                                           {ISA_BRANCH_LE, "le"},
                                           {ISA_BRANCH_EQ, "eq"},
                                           {ISA_BRANCH_NE, "ne"},
                                           {ISA_BRANCH_GE, "ge"},
                                           {ISA_BRANCH_GT, "gt"},
                                           {ISA_BRANCH_REGISTERS + ISA_BRANCH_LT, "lt_reg"},
                                           {ISA_BRANCH_REGISTERS + ISA_BRANCH_LE, "le_reg"},
                                           {ISA_BRANCH_REGISTERS + ISA_BRANCH_EQ, "eq_reg"},
                                           {ISA_BRANCH_REGISTERS + ISA_BRANCH_NE, "ne_reg"},
                                           {ISA_BRANCH_REGISTERS + ISA_BRANCH_GE, "ge_reg"},
                                           {ISA_BRANCH_REGISTERS + ISA_BRANCH_GT, "gt_reg"}};
constexpr isa_value_t branch_targets[] = {{ISA_TARGET_REGISTERS, "registers"},
                                          {ISA_TARGET_RELATIVE, "relative"},
                                          {ISA_TARGET_RELATIVE_REGISTER, "relative_register"}};
constexpr isa_value_t to_registers[] = {{0, "registers"}};
constexpr isa_value_t from_sources[] = {{0, "registers"}, {1, "immediates"}};
constexpr isa_value_t clear_modes[] = {{1, "range"}, {2, "mask"}};
constexpr isa_value_t write_sizes[] = {{0, "absent"}, {1, "1"}, {2, "2"}, {3, "3"}, {4, "4"},
                                       {5, "5"},      {6, "6"}, {7, "7"}, {8, "8"}};
constexpr isa_value_t sub_ops[] = {{1, "exit"}, {2, "library_reload"}};

// --- fields --------------------------------------------------------------------------------------

// NOLINTBEGIN(cppcoreguidelines-macro-usage): offsetof and sizeof of one member, named once.
#define FIELD(type, member, ...) \
  { #member, offsetof(type, member), sizeof(type::member), __VA_ARGS__ }
#define ENTRY(name, type, member, ...) \
  { name, offsetof(type, member), sizeof(type::member), __VA_ARGS__ }
#define NUMBER(low, high) ISA_KIND_NUMBER, low, high
#define ENUM(list) ISA_KIND_ENUM, 0, 0, list
#define DTYPE(list) ISA_KIND_DTYPE, 0, 0, list
#define PAIR(list) ISA_KIND_DTYPE_PAIR, 0, 0, list
#define INNER ISA_SPACE_ANY, 0, 0, 0, true
#define ALWAYS ISA_SPACE_ANY, 0, 0, 0, false, true
// Pattern in a space, its data type in a member: all of it, or its low or high nibble.
#define PATTERN(space, ...) ISA_KIND_PATTERN, 0, 0, {}, space __VA_OPT__(, ) __VA_ARGS__
#define TYPE(type, member) offsetof(type, member), 0
#define TYPE_HIGH(type, member) offsetof(type, member), 4
#define SCALAR(type_at, type_shift, source) \
  ISA_KIND_SCALAR, 0, 0, {}, ISA_SPACE_ANY, type_at, type_shift, source
// NOLINTEND(cppcoreguidelines-macro-usage)

constexpr isa_field_t header[] = {
    FIELD(isa_header, words, ISA_KIND_BITS),
    FIELD(isa_header, debug_command, ENUM(debug_commands)),
    FIELD(isa_header, debug_hint, ISA_KIND_BITS),
    FIELD(isa_header, wait_mode, ENUM(waits), INNER),
    FIELD(isa_header, wait_index, ISA_KIND_NUMBER),
    FIELD(isa_header, update_mode, ENUM(updates), INNER),
    FIELD(isa_header, update_index, ISA_KIND_NUMBER),
    FIELD(isa_header, value, ISA_KIND_NUMBER),
};

constexpr isa_field_t ldweights[] = {
    FIELD(isa_ldweights, src, PATTERN(ISA_SPACE_SBUF, TYPE(isa_ldweights, dtype))),
    FIELD(isa_ldweights, dtype, DTYPE(pe_dtypes), INNER),
    FIELD(isa_ldweights, fp32_mode, NUMBER(0, 3)),
    FIELD(isa_ldweights, transpose, NUMBER(0, 1)),
    FIELD(isa_ldweights, performance, NUMBER(0, 3)),
    ENTRY("quant_offset0", isa_ldweights, quant_offset[0], ISA_KIND_BITS),
    ENTRY("quant_offset1", isa_ldweights, quant_offset[1], ISA_KIND_BITS),
    FIELD(isa_ldweights, rows, NUMBER(1, 128)),
    FIELD(isa_ldweights, columns, NUMBER(1, 128)),
    FIELD(isa_ldweights, row_group, ENUM(groups)),
    FIELD(isa_ldweights, column_group, ENUM(groups)),
    FIELD(isa_ldweights, crossbar, ENUM(crossbars)),
};
constexpr isa_field_t matmul[] = {
    FIELD(isa_matmul, src, PATTERN(ISA_SPACE_SBUF, TYPE(isa_matmul, dtype))),
    FIELD(isa_matmul, dst, PATTERN(ISA_SPACE_PSUM)),
    FIELD(isa_matmul, dtype, DTYPE(pe_dtypes), INNER),
    FIELD(isa_matmul, fp32_mode, NUMBER(0, 3)),
    FIELD(isa_matmul, transpose, NUMBER(0, 1)),
    FIELD(isa_matmul, performance, NUMBER(0, 3)),
    ENTRY("quant_offset0", isa_matmul, quant_offset[0], ISA_KIND_BITS),
    ENTRY("quant_offset1", isa_matmul, quant_offset[1], ISA_KIND_BITS),
    FIELD(isa_matmul, rows, NUMBER(1, 128)),
    FIELD(isa_matmul, columns, NUMBER(1, 128)),
    FIELD(isa_matmul, out_dtype, DTYPE(dtypes_or_none)),
    FIELD(isa_matmul, flags, ENUM(matmul_flags)),
    FIELD(isa_matmul, row_group, ENUM(groups)),
    FIELD(isa_matmul, column_group, ENUM(groups)),
    FIELD(isa_matmul, crossbar, ENUM(crossbars)),
    FIELD(isa_matmul, zero_region, NUMBER(0, 3)),
};
constexpr isa_field_t activate[] = {
    FIELD(isa_activate, src, PATTERN(ISA_SPACE_ANY, TYPE(isa_activate, in_bias_dtype))),
    FIELD(isa_activate, dst, PATTERN(ISA_SPACE_ANY, TYPE(isa_activate, out_dtype))),
    FIELD(isa_activate, immediate_source, ENUM(sources)),
    FIELD(isa_activate, scale_source, ENUM(sources), INNER),
    FIELD(isa_activate, accumulator, ENUM(accumulators)),
    FIELD(isa_activate, bias_source, ENUM(bias_sources), INNER),
    FIELD(isa_activate, in_bias_dtype, PAIR(dtypes), INNER),
    FIELD(isa_activate, out_dtype, DTYPE(dtypes), INNER),
    FIELD(isa_activate, channels, NUMBER(1, 128)),
    FIELD(isa_activate, function, ISA_KIND_NUMBER),
    FIELD(isa_activate, scale, SCALAR(0, 0, offsetof(isa_activate, scale_source))),
    FIELD(isa_activate, bias,
          SCALAR(offsetof(isa_activate, in_bias_dtype), 4, offsetof(isa_activate, bias_source))),
    FIELD(isa_activate, extra, SCALAR(0, 0, 0)),
};
constexpr isa_field_t act_table_load[] = {
    FIELD(isa_act_table_load, set, NUMBER(0, 255), {}, ALWAYS),
};
constexpr isa_field_t tensor_tensor[] = {
    FIELD(isa_tensor_tensor, src0, PATTERN(ISA_SPACE_ANY, TYPE(isa_tensor_tensor, in_dtypes))),
    FIELD(isa_tensor_tensor, src1, PATTERN(ISA_SPACE_ANY, TYPE_HIGH(isa_tensor_tensor, in_dtypes))),
    FIELD(isa_tensor_tensor, dst, PATTERN(ISA_SPACE_ANY, TYPE(isa_tensor_tensor, out_dtype))),
    FIELD(isa_tensor_tensor, in_dtypes, PAIR(dtypes), INNER),
    FIELD(isa_tensor_tensor, out_dtype, DTYPE(dtypes), INNER),
    FIELD(isa_tensor_tensor, op, ENUM(alu_ops)),
    FIELD(isa_tensor_tensor, channels, NUMBER(1, 128)),
};
constexpr isa_field_t tensor_scalar[] = {
    FIELD(isa_tensor_scalar, src, PATTERN(ISA_SPACE_ANY, TYPE(isa_tensor_scalar, in_dtype))),
    FIELD(isa_tensor_scalar, dst, PATTERN(ISA_SPACE_ANY, TYPE(isa_tensor_scalar, out_dtype))),
    FIELD(isa_tensor_scalar, accumulator, ENUM(accumulators)),
    FIELD(isa_tensor_scalar, in_dtype, DTYPE(dtypes), INNER),
    FIELD(isa_tensor_scalar, out_dtype, DTYPE(dtypes), INNER),
    FIELD(isa_tensor_scalar, channels, NUMBER(1, 128)),
    FIELD(isa_tensor_scalar, imm0_source, ENUM(sources), INNER),
    FIELD(isa_tensor_scalar, op0, ENUM(alu_ops)),
    FIELD(isa_tensor_scalar, op1, ENUM(alu_ops)),
    FIELD(isa_tensor_scalar, reverse, NUMBER(0, 3)),
    FIELD(isa_tensor_scalar, imm1_source, ENUM(sources), INNER),
    FIELD(isa_tensor_scalar, imm0, SCALAR(0, 0, offsetof(isa_tensor_scalar, imm0_source))),
    FIELD(isa_tensor_scalar, imm1, SCALAR(0, 0, offsetof(isa_tensor_scalar, imm1_source))),
};
constexpr isa_field_t copy[] = {
    FIELD(isa_copy, src, PATTERN(ISA_SPACE_ANY, TYPE(isa_copy, in_dtype))),
    FIELD(isa_copy, dst, PATTERN(ISA_SPACE_ANY, TYPE(isa_copy, out_dtype))),
    FIELD(isa_copy, in_dtype, DTYPE(dtypes), INNER),
    FIELD(isa_copy, out_dtype, DTYPE(dtypes), INNER),
    FIELD(isa_copy, channels, NUMBER(1, 128)),
};
constexpr isa_field_t tensor_reduce[] = {
    FIELD(isa_copy, src, PATTERN(ISA_SPACE_ANY, TYPE(isa_copy, in_dtype))),
    FIELD(isa_copy, dst, PATTERN(ISA_SPACE_ANY, TYPE(isa_copy, out_dtype))),
    FIELD(isa_copy, in_dtype, DTYPE(dtypes), INNER),
    FIELD(isa_copy, out_dtype, DTYPE(dtypes), INNER),
    FIELD(isa_copy, channels, NUMBER(1, 128)),
    FIELD(isa_copy, negate, NUMBER(0, 1)),
    FIELD(isa_copy, op, ENUM(alu_ops)),
    FIELD(isa_copy, dimension, ENUM(dimensions)),
};
constexpr isa_field_t memset_fields[] = {
    FIELD(isa_memset, dst, PATTERN(ISA_SPACE_ANY, TYPE(isa_memset, dtype))),
    FIELD(isa_memset, count, NUMBER(1, 0xFFFFFFFF)),
    FIELD(isa_memset, dtype, DTYPE(dtypes), INNER),
    FIELD(isa_memset, channels, NUMBER(1, 128)),
    // The header has a "value", too.
    ENTRY("fill", isa_memset, value, ISA_KIND_BITS),
};
constexpr isa_field_t iota[] = {
    FIELD(isa_iota, pattern, ISA_KIND_DATA4),
    FIELD(isa_iota, dst, PATTERN(ISA_SPACE_ANY, TYPE(isa_iota, out_dtype))),
    FIELD(isa_iota, out_dtype, DTYPE(dtypes), INNER),
    FIELD(isa_iota, channels, NUMBER(1, 128)),
    FIELD(isa_iota, channel_multiplier, ISA_KIND_SIGNED),
};
constexpr isa_field_t affine_select[] = {
    FIELD(isa_affine_select, mask, ISA_KIND_DATA4),
    FIELD(isa_affine_select, src, PATTERN(ISA_SPACE_ANY, TYPE(isa_affine_select, dtypes))),
    FIELD(isa_affine_select, dst, PATTERN(ISA_SPACE_ANY, TYPE_HIGH(isa_affine_select, dtypes))),
    FIELD(isa_affine_select, channels, NUMBER(1, 128)),
    FIELD(isa_affine_select, dtypes, PAIR(dtypes), INNER),
    FIELD(isa_affine_select, compare, ENUM(select_compares)),
    FIELD(isa_affine_select, fill_register, ISA_KIND_REGISTER, 0, 63),
    FIELD(isa_affine_select, channel_multiplier, ISA_KIND_SIGNED),
};
constexpr isa_field_t event_semaphore[] = {
    ENTRY("wait2_mode", isa_event_semaphore, wait_mode, ENUM(waits), INNER),
    ENTRY("wait2_index", isa_event_semaphore, wait_index, ISA_KIND_NUMBER),
    ENTRY("update2_mode", isa_event_semaphore, update_mode, ENUM(updates), INNER),
    ENTRY("update2_index", isa_event_semaphore, update_index, ISA_KIND_NUMBER),
    ENTRY("wait2_value", isa_event_semaphore, wait_value, ISA_KIND_NUMBER),
    ENTRY("update2_value", isa_event_semaphore, update_value, ISA_KIND_NUMBER),
};
constexpr isa_field_t drain[] = {
    FIELD(isa_drain, count, ISA_KIND_NUMBER),
};
constexpr isa_field_t write[] = {
    ENTRY("size0", isa_write, size[0], ENUM(write_sizes)),
    ENTRY("size1", isa_write, size[1], ENUM(write_sizes)),
    ENTRY("address0", isa_write, address[0], ISA_KIND_ADDR8),
    ENTRY("address1", isa_write, address[1], ISA_KIND_ADDR8),
    ENTRY("value0", isa_write, value[0], ISA_KIND_BITS),
    ENTRY("value1", isa_write, value[1], ISA_KIND_BITS),
};
constexpr isa_field_t notify[] = {
    FIELD(isa_notify, queue, ISA_KIND_NUMBER),
    FIELD(isa_notify, type, NUMBER(0, 31)),
    FIELD(isa_notify, extended_hint, ISA_KIND_NUMBER),
};
constexpr isa_field_t move[] = {
    FIELD(isa_move, count, NUMBER(1, 8), {}, INNER),
    FIELD(isa_move, dtype, DTYPE(dtypes)),
    FIELD(isa_move, source, ENUM(operand_sources), INNER),
    FIELD(isa_move, src, ISA_KIND_REGISTERS),
    FIELD(isa_move, dst, ISA_KIND_REGISTERS),
    FIELD(isa_move, immediate, ISA_KIND_IMMEDIATES),
};
constexpr isa_field_t alu[] = {
    FIELD(isa_alu, op, ENUM(alu_ops)),
    FIELD(isa_alu, dtype, DTYPE(dtypes)),
    FIELD(isa_alu, src1_source, ENUM(operand_sources)),
    FIELD(isa_alu, dst_dtype, DTYPE(dtypes_or_none)),
    FIELD(isa_alu, src0_low, ISA_KIND_REGISTER),
    FIELD(isa_alu, src0_high, ISA_KIND_REGISTER),
    FIELD(isa_alu, src1_low, ISA_KIND_REGISTER),
    FIELD(isa_alu, src1_high, ISA_KIND_REGISTER),
    FIELD(isa_alu, dst_low, ISA_KIND_REGISTER),
    FIELD(isa_alu, dst_high, ISA_KIND_REGISTER),
    FIELD(isa_alu, immediate, ISA_KIND_BITS),
};
constexpr isa_field_t compare_branch[] = {
    FIELD(isa_compare_branch, compare, ENUM(branch_compares)),
    FIELD(isa_compare_branch, dtype, DTYPE(dtypes_or_none)),
    FIELD(isa_compare_branch, target, ENUM(branch_targets)),
    FIELD(isa_compare_branch, immediate, ISA_KIND_BITS),
    ENTRY("reg0", isa_compare_branch, reg[0], ISA_KIND_REGISTER),
    ENTRY("reg1", isa_compare_branch, reg[1], ISA_KIND_REGISTER),
    ENTRY("target_reg0", isa_compare_branch, target_reg[0], ISA_KIND_REGISTER),
    ENTRY("target_reg1", isa_compare_branch, target_reg[1], ISA_KIND_REGISTER),
    FIELD(isa_compare_branch, offset, ISA_KIND_BRANCH),
};
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): three opcodes share these.
#define TENSOR_MOVE_FIELDS(kinds)                                                          \
  FIELD(isa_tensor_move, dtype, DTYPE(dtypes)), FIELD(isa_tensor_move, kind, ENUM(kinds)), \
      ENTRY("count0", isa_tensor_move, count[0], NUMBER(1, 32)),                           \
      ENTRY("count1", isa_tensor_move, count[1], NUMBER(1, 32)),                           \
      ENTRY("step0", isa_tensor_move, step[0], ISA_KIND_SIGNED),                           \
      ENTRY("step1", isa_tensor_move, step[1], ISA_KIND_SIGNED)
constexpr isa_field_t tensor_load[] = {
    TENSOR_MOVE_FIELDS(to_registers),
    FIELD(isa_tensor_move, address, ISA_KIND_ADDR8),
    FIELD(isa_tensor_move, reg, ISA_KIND_REGISTERS),
};
constexpr isa_field_t tensor_store[] = {
    TENSOR_MOVE_FIELDS(from_sources),
    FIELD(isa_tensor_move, address, ISA_KIND_ADDR8),
    FIELD(isa_tensor_move, reg, ISA_KIND_REGISTERS),
    FIELD(isa_tensor_move, immediate, ISA_KIND_IMMEDIATES),
};
constexpr isa_field_t pseudo_tensor_load[] = {
    TENSOR_MOVE_FIELDS(to_registers),
    FIELD(isa_tensor_move, address, ISA_KIND_VARIABLE),
    FIELD(isa_tensor_move, reg, ISA_KIND_REGISTERS),
};
constexpr isa_field_t pseudo_tensor_store[] = {
    TENSOR_MOVE_FIELDS(from_sources),
    FIELD(isa_tensor_move, address, ISA_KIND_VARIABLE),
    FIELD(isa_tensor_move, reg, ISA_KIND_REGISTERS),
    FIELD(isa_tensor_move, immediate, ISA_KIND_IMMEDIATES),
};
constexpr isa_field_t sem_range_clear[] = {
    FIELD(isa_sem_range_clear, mode, ENUM(clear_modes)),
    FIELD(isa_sem_range_clear, first, ISA_KIND_NUMBER),
    FIELD(isa_sem_range_clear, last, ISA_KIND_NUMBER),
    FIELD(isa_sem_range_clear, mask, ISA_KIND_IMMEDIATES),
};
constexpr isa_field_t dma[] = {
    {"src",
     offsetof(isa_dma, src),
     offsetof(isa_dma, src_bound) - offsetof(isa_dma, src),
     ISA_KIND_DMA_SIDE,
     0,
     0,
     {},
     ISA_SPACE_ANY,
     TYPE(isa_dma, src_dtype)},
    {"dst",
     offsetof(isa_dma, dst),
     offsetof(isa_dma, src_dtype) - offsetof(isa_dma, dst),
     ISA_KIND_DMA_SIDE,
     0,
     0,
     {},
     ISA_SPACE_ANY,
     TYPE(isa_dma, dst_dtype)},
    FIELD(isa_dma, config, ISA_KIND_BITS),
    FIELD(isa_dma, semaphore, ISA_KIND_NUMBER),
    FIELD(isa_dma, increment, ISA_KIND_NUMBER),
    FIELD(isa_dma, src_bound, ISA_KIND_DMA_BOUND),
    FIELD(isa_dma, dst_bound, ISA_KIND_DMA_BOUND),
    FIELD(isa_dma, src_dtype, DTYPE(dtypes), INNER),
    FIELD(isa_dma, dst_dtype, DTYPE(dtypes), INNER),
};
constexpr isa_field_t dma_bound[] = {
    FIELD(isa_dma_bound, src_size, ISA_KIND_NUMBER),
    FIELD(isa_dma_bound, dst_size, ISA_KIND_NUMBER),
};
constexpr isa_field_t dma_trigger[] = {
    FIELD(isa_dma_trigger, queue, ISA_KIND_QUEUE),
    FIELD(isa_dma_trigger, block, NUMBER(0, 0xFFFFFFFF), {}, ALWAYS),
};
constexpr isa_field_t pseudo_inst[] = {
    FIELD(isa_pseudo_inst, sub_op, ENUM(sub_ops)),
};

// --- opcodes -------------------------------------------------------------------------------------

constexpr uint8_t pe = isa_engine_bit(ISA_ENGINE_PE);
constexpr uint8_t act = isa_engine_bit(ISA_ENGINE_ACT);
constexpr uint8_t compute = act | isa_engine_bit(ISA_ENGINE_POOL) | isa_engine_bit(ISA_ENGINE_DVE);
constexpr uint8_t every = (1u << ISA_ENGINE_COUNT) - 1;
constexpr uint8_t in_neff = 1u << ISA_FORM_NEFF, in_image = 1u << ISA_FORM_IMAGE;
constexpr uint8_t in_both = in_neff | in_image;

constexpr isa_opcode_info_t opcodes[] = {
    {ISA_LDWEIGHTS, "LDWEIGHTS", pe, in_both, ldweights},
    {ISA_MATMUL, "MATMUL", pe, in_both, matmul},
    {ISA_ACTIVATE, "ACTIVATE", act, in_both, activate},
    {ISA_ACT_TABLE_LOAD, "ACT_TABLE_LOAD", act, in_both, act_table_load},
    {ISA_TENSOR_TENSOR, "TENSOR_TENSOR", compute, in_both, tensor_tensor},
    {ISA_TENSOR_REDUCE, "TENSOR_REDUCE", compute, in_both, tensor_reduce},
    {ISA_TENSOR_SCALAR, "TENSOR_SCALAR", compute, in_both, tensor_scalar},
    {ISA_COPY, "COPY", compute, in_both, copy},
    {ISA_CAST, "CAST", compute, in_both, copy},
    {ISA_RECIPROCAL, "RECIPROCAL", compute, in_both, copy},
    {ISA_MEMSET, "MEMSET", compute, in_both, memset_fields},
    {ISA_IOTA, "IOTA", compute, in_both, iota},
    {ISA_AFFINE_SELECT, "AFFINE_SELECT", compute, in_both, affine_select},
    {ISA_EVENT_SEMAPHORE, "EVENT_SEMAPHORE", every, in_both, event_semaphore},
    {ISA_HALT, "HALT", every, in_both, {}},
    {ISA_DRAIN, "DRAIN", every, in_both, drain},
    {ISA_NOP, "NOP", every, in_both, {}},
    {ISA_WRITE, "WRITE", every, in_image, write},
    {ISA_NOTIFY, "NOTIFY", every, in_image, notify},
    {ISA_MOVE, "MOVE", every, in_both, move},
    {ISA_ALU_OP, "ALU_OP", every, in_both, alu},
    {ISA_COMPARE_BRANCH, "COMPARE_BRANCH", every, in_both, compare_branch},
    {ISA_TENSOR_LOAD, "TENSOR_LOAD", every, in_image, tensor_load},
    {ISA_TENSOR_STORE, "TENSOR_STORE", every, in_image, tensor_store},
    {ISA_SEM_RANGE_CLEAR, "SEM_RANGE_CLEAR", every, in_image, sem_range_clear},
    {ISA_SET_ORDERING, "SET_ORDERING", every, in_both, {}},
    {ISA_DMAMEMCPY, "DMAMEMCPY", every, in_image, dma},
    {ISA_PSEUDO_DMATRIGGER, "DMATRIGGER", every, in_neff, dma_trigger},
    {ISA_PSEUDO_BRANCH_LABEL, "BRANCH_LABEL", every, in_neff, {}},
    {ISA_PSEUDO_TENSOR_STORE, "PSEUDO_TENSOR_STORE", every, in_neff, pseudo_tensor_store},
    {ISA_PSEUDO_TENSOR_LOAD, "PSEUDO_TENSOR_LOAD", every, in_neff, pseudo_tensor_load},
    {ISA_PSEUDO_DMA_DIRECT2D, "DMA_DIRECT2D", every, in_neff, dma},
    {ISA_PSEUDO_DMA_BOUND, "DMA_BOUND", every, in_neff, dma_bound},
    {ISA_PSEUDO_INST, "PSEUDO_INST", every, in_neff, pseudo_inst},
};

constexpr std::array<uint8_t, 256> make_index() {
  std::array<uint8_t, 256> index{};
  for (auto &i : index)
    i = 0xFF;
  for (size_t i = 0; i < std::size(opcodes); i++)
    index[opcodes[i].opcode] = static_cast<uint8_t>(i);
  return index;
}
constexpr std::array<uint8_t, 256> index_of_opcode = make_index();

}  // namespace

std::span<const isa_field_t> isa_header_fields() {
  return header;
}

const isa_opcode_info_t *isa_opcode_info(uint8_t opcode) {
  return index_of_opcode[opcode] == 0xFF ? nullptr : &opcodes[index_of_opcode[opcode]];
}

std::span<const isa_opcode_info_t> isa_opcode_infos() {
  return opcodes;
}

const isa_field_t *isa_field_at(uint8_t opcode, uint32_t offset) {
  const isa_opcode_info_t *info = isa_opcode_info(opcode);
  for (const auto fields : {isa_header_fields(), info ? info->fields : isa_header_fields()}) {
    for (const isa_field_t &field : fields) {
      if (offset >= field.offset && offset < uint32_t{field.offset} + field.size)
        return &field;
    }
  }
  return nullptr;
}

std::span<const isa_value_t> isa_dtype_values() {
  return dtypes;
}

isa_pattern_view_t isa_view_pattern(const uint8_t *at, uint32_t size) {
  isa_pattern_view_t v{};
  v.dims = static_cast<uint8_t>((size - sizeof(v.addr4)) / 4);
  memcpy(&v.addr4, at, sizeof(v.addr4));
  for (uint32_t d = 0; d < 4; d++) {
    v.count[d] = 1;
    if (d >= v.dims)
      continue;
    memcpy(&v.step[d], at + 4 + 2 * d, sizeof(v.step[d]));
    memcpy(&v.count[d], at + 4 + 2 * (v.dims + d), sizeof(v.count[d]));
  }
  return v;
}

const char *isa_value_name(std::span<const isa_value_t> values, uint64_t value) {
  for (const isa_value_t &v : values) {
    if (v.value == value)
      return v.name;
  }
  return nullptr;
}
