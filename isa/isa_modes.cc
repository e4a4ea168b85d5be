// SPDX-License-Identifier: Apache-2.0
#include "isa/isa_modes.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "isa/isa_fields.h"
#include "isa/isa_table.h"
#include "isa/isa_walk.h"
#include "isa/project.h"

namespace {

using finding_t = isa_finding_t;

constexpr const char *kElements = "source and destination differ in their elements per lane";
constexpr const char *kAccumulator = "accumulators are not implemented";

template <typename T>
T as(const isa_record *record) {
  return std::bit_cast<T>(*record);
}

// Elements per lane of a pattern or of numbers.
template <typename PATTERN>
uint64_t elements(const PATTERN &p, size_t first_dimension = 0) {
  uint64_t n = 1;
  for (size_t d = first_dimension; d < std::size(p.count); d++)
    n *= p.count[d];
  return n;
}

template <typename SRC, typename DST>
finding_t same_elements(const SRC &src, const DST &dst, size_t offset,
                        const char *text = kElements) {
  return elements(src) == elements(dst) ? finding_t{}
                                        : finding_t{text, static_cast<uint32_t>(offset)};
}

finding_t first_of(const finding_t &a, const finding_t &b) {
  return a.text ? a : b;
}

finding_t check_shapes(const isa_record *record) {
  for (const isa_field_t &field : isa_opcode_info(record->h.opcode)->fields) {
    if (field.kind != ISA_KIND_PATTERN)
      continue;
    uint32_t addr4;  // the first word of every pattern
    memcpy(&addr4, reinterpret_cast<const uint8_t *>(record) + field.offset, sizeof(addr4));
    if (addr4 & ISA_ADDR4_SHAPE_REGISTER)
      return {"operand with its shape in registers is not implemented", field.offset};
  }
  return {};
}

// --- the PE array ---

template <typename RECORD>  // isa_ldweights, isa_matmul
finding_t check_operand_type(const RECORD &r) {
  if (r.dtype == ISA_DTYPE_UINT8 && (r.quant_offset[0] != 0 || r.quant_offset[1] != 0))
    return {"quantisation offsets are not implemented", offsetof(RECORD, quant_offset)};
  if (r.dtype == ISA_DTYPE_FP32 && r.fp32_mode == 0)
    return {"fp32 operand without an fp32 mode", offsetof(RECORD, fp32_mode)};
  if (r.performance != 0)
    return {"performance modes are not implemented", offsetof(RECORD, performance)};
  return {};
}

// Operands start at the partition of their group and fit it.
template <typename RECORD>
finding_t check_groups(const RECORD &r) {
  constexpr const char *room = "more rows or columns than the group has";
  if (r.rows > isa_pe_group_size(r.row_group))
    return {room, offsetof(RECORD, rows)};
  if (r.columns > isa_pe_group_size(r.column_group))
    return {room, offsetof(RECORD, columns)};
  if (!(r.src.addr4 & ISA_ADDR4_REGISTER) &&
      (r.src.addr4 & ISA_ADDR4_ADDRESS) / ISA_SBUF_PITCH != isa_pe_group_first(r.row_group))
    return {"source starts at another partition than its row group", offsetof(RECORD, src)};
  return {};
}

finding_t check_ldweights(const isa_ldweights &r) {
  const finding_t f = first_of(check_operand_type(r), check_groups(r));
  if (f.text)
    return f;
  if (elements(r.src) != r.columns)
    return {"elements per lane differ from the columns", offsetof(isa_ldweights, columns)};
  return {};
}

finding_t check_destination(const isa_matmul &r) {
  if (r.dst.addr4 & ISA_ADDR4_REGISTER)
    return {};
  const uint32_t partition = ((r.dst.addr4 & ISA_ADDR4_ADDRESS) - ISA_PSUM_BASE) / ISA_PSUM_PITCH;
  if (partition != isa_pe_group_first(r.column_group))
    return {"destination starts at another partition than its column group",
            offsetof(isa_matmul, dst)};
  return {};
}

finding_t check_matmul(const isa_matmul &r) {
  const finding_t f = first_of(check_operand_type(r), check_groups(r));
  if (f.text)
    return f;
  if (r.out_dtype != ISA_DTYPE_INVALID && r.out_dtype != ISA_DTYPE_FP32)
    return {"output types other than fp32 are not implemented", offsetof(isa_matmul, out_dtype)};
  if (elements(r.src) > ISA_PE_MOVING)
    return {"more than 512 moving elements per lane", offsetof(isa_matmul, src.count)};
  static_assert(ISA_PE_MOVING == 512);
  return first_of(same_elements(r.src, r.dst, offsetof(isa_matmul, dst.count),
                                "destination and moving operand differ in elements"),
                  check_destination(r));
}

// --- lane by lane ---

// The bit operations have opcodes of their own (51, 53, 9E).
finding_t check_arithmetic(uint8_t op, size_t offset) {
  switch (op) {
    case ISA_ALU_NOT:
    case ISA_ALU_SHL_ARITHMETIC:
    case ISA_ALU_SHR_ARITHMETIC:
    case ISA_ALU_AND:
    case ISA_ALU_OR:
    case ISA_ALU_XOR:
    case ISA_ALU_SHL_LOGICAL:
    case ISA_ALU_SHR_LOGICAL:
      return {"bit operation in an arithmetic opcode", static_cast<uint32_t>(offset)};
    default:
      return {};
  }
}

finding_t check_activate(const isa_activate &r) {
  if (r.accumulator != 0)
    return {kAccumulator, offsetof(isa_activate, accumulator)};
  if (isa_activate_has_slope(r.function) && r.immediate_source != ISA_SOURCE_IMMEDIATE)
    return {"slope behind a pointer is not implemented", offsetof(isa_activate, immediate_source)};
  return same_elements(r.src, r.dst, offsetof(isa_activate, src.count));
}

finding_t check_tensor_tensor(const isa_tensor_tensor &r) {
  const finding_t f = check_arithmetic(r.op, offsetof(isa_tensor_tensor, op));
  return f.text ? f
                : first_of(same_elements(r.src0, r.dst, offsetof(isa_tensor_tensor, src0.count)),
                           same_elements(r.src1, r.dst, offsetof(isa_tensor_tensor, src1.count)));
}

finding_t check_tensor_scalar(const isa_tensor_scalar &r) {
  if (r.accumulator != 0)
    return {kAccumulator, offsetof(isa_tensor_scalar, accumulator)};
  const finding_t f = first_of(check_arithmetic(r.op0, offsetof(isa_tensor_scalar, op0)),
                               check_arithmetic(r.op1, offsetof(isa_tensor_scalar, op1)));
  return f.text ? f : same_elements(r.src, r.dst, offsetof(isa_tensor_scalar, src.count));
}

finding_t check_reduce(const isa_copy &r) {
  if (r.op != ISA_ALU_ADD && r.op != ISA_ALU_MULTIPLY && r.op != ISA_ALU_MAX && r.op != ISA_ALU_MIN)
    return {"reduction other than add, multiply, max, min", offsetof(isa_copy, op)};
  // Dimensions 2 to 5: the first 1 to 4 are reduced.
  if (elements(r.dst) != elements(r.src, r.dimension - 1u))
    return {"the destination has not one element per group of the source",
            offsetof(isa_copy, dst.count)};
  return {};
}

finding_t check_memset(const isa_memset &r) {
  if (isa_dtype_size(r.dtype) > sizeof(r.value))
    return {"fill with a 64-bit type is not implemented", offsetof(isa_memset, dtype)};
  if (elements(r.dst) != r.count)
    return {"element count differs from the destination pattern's", offsetof(isa_memset, count)};
  return {};
}

finding_t check_affine_select(const isa_affine_select &r) {
  return first_of(same_elements(r.mask, r.dst, offsetof(isa_affine_select, mask.count),
                                "mask and destination differ in their elements per lane"),
                  same_elements(r.src, r.dst, offsetof(isa_affine_select, src.count)));
}

// --- operands that overlap ---

uint32_t last_pattern(const isa_record *record) {
  uint32_t at = 0;
  for (const isa_field_t &field : isa_opcode_info(record->h.opcode)->fields)
    at = field.kind == ISA_KIND_PATTERN ? field.offset : at;
  return at;
}

// Whether a long lane of `src` may be worked off in parts.
bool may_overlap(uint8_t opcode, const isa_operand_t *src, const isa_operand_t *dst) {
  const isa_walk_t from = isa_walk_of(src), to = isa_walk_of(dst);
  if (opcode == ISA_TENSOR_REDUCE)
    return isa_walk_apart(&from, &to);
  // Moved at once.
  if (opcode == ISA_COPY && isa_walk_contiguous(&from) && isa_walk_contiguous(&to))
    return true;
  return isa_walk_in_order(&from, &to);
}

// The destination against each source. An address in a register may lie anywhere; a scalar is read
// before its lane.
finding_t check_overlap(const isa_record *record) {
  // Most records of most programs, and none of them long.
  static_assert(ISA_PE_MOVING <= ISA_MODES_LANE);
  if (record->h.opcode == ISA_MATMUL || record->h.opcode == ISA_LDWEIGHTS)
    return {};
  isa_operand_t operands[ISA_MAX_OPERANDS];
  const uint32_t n = isa_operands(record, operands);
  if (n < 2)
    return {};
  const uint8_t opcode = record->h.opcode;
  const isa_operand_t *dst = &operands[n - 1];
  const uint64_t results = isa_operand_elements(dst);
  if (results <= (opcode == ISA_TENSOR_REDUCE ? ISA_MODES_RESULTS : ISA_MODES_LANE))
    return {};
  for (const isa_operand_t *src = operands; src != dst; src++) {
    if (((src->addr4 | dst->addr4) & ISA_ADDR4_REGISTER) || isa_operand_elements(src) < results ||
        may_overlap(opcode, src, dst))
      continue;
    return {opcode == ISA_TENSOR_REDUCE
                ? "source and destination of more than 512 results overlap"
                : "source and destination overlap in different patterns of more than 2048 elements",
            last_pattern(record)};
  }
  return {};
}
static_assert(ISA_MODES_LANE == 2048 && ISA_MODES_RESULTS == 512);

// --- scalars and branches ---

bool is_wide(uint8_t dtype) {
  return dtype == ISA_DTYPE_INT64 || dtype == ISA_DTYPE_UINT64;
}

bool is_scalar_integer(uint8_t dtype) {
  return is_wide(dtype) || dtype == ISA_DTYPE_INT32 || dtype == ISA_DTYPE_UINT32;
}

// Registers that a record writes: the general ones, and the base of the DGE table.
finding_t check_written(const uint8_t *registers, uint32_t count, size_t offset) {
  for (uint32_t i = 0; i < count; i++) {
    const uint8_t n = registers[i];
    if (n >= ISA_GENERAL_REGISTERS && n != PROJECT_TABLE_REGISTER &&
        n != PROJECT_TABLE_REGISTER + 1)
      return {"register that cannot be written", static_cast<uint32_t>(offset) + i};
  }
  return {};
}

bool is_scalar_operation(uint8_t op) {
  switch (op) {
    case ISA_ALU_BYPASS:
    case ISA_ALU_NOT:
    case ISA_ALU_ADD:
    case ISA_ALU_SUBTRACT:
    case ISA_ALU_MULTIPLY:
    case ISA_ALU_MAX:
    case ISA_ALU_MIN:
    case ISA_ALU_AND:
    case ISA_ALU_OR:
    case ISA_ALU_XOR:
    case ISA_ALU_SHL_ARITHMETIC:
    case ISA_ALU_SHL_LOGICAL:
    case ISA_ALU_SHR_LOGICAL:
    case ISA_ALU_SHR_ARITHMETIC:
      return true;
    default:
      return false;
  }
}

finding_t check_alu(const isa_alu &r) {
  if (!is_scalar_operation(r.op))
    return {"scalar operation that is not implemented", offsetof(isa_alu, op)};
  if (!is_scalar_integer(r.dtype))
    return {"scalar arithmetic on this data type is not implemented", offsetof(isa_alu, dtype)};
  if (r.dst_dtype != ISA_DTYPE_INVALID && r.dst_dtype != r.dtype)
    return {"scalar arithmetic into another data type is not implemented",
            offsetof(isa_alu, dst_dtype)};
  return first_of(
      check_written(&r.dst_low, 1, offsetof(isa_alu, dst_low)),
      check_written(&r.dst_high, is_wide(r.dtype) ? 1 : 0, offsetof(isa_alu, dst_high)));
}

finding_t check_branch(const isa_compare_branch &r) {
  if (r.compare == ISA_BRANCH_ALWAYS)
    return {};
  if (!is_scalar_integer(r.dtype))
    return {"branch on a data type that is not implemented", offsetof(isa_compare_branch, dtype)};
  if (r.compare > ISA_BRANCH_REGISTERS && is_wide(r.dtype))
    return {"64-bit comparison of registers is not implemented",
            offsetof(isa_compare_branch, compare)};
  return {};
}

finding_t check_tensor_move(const isa_tensor_move &r) {
  if (isa_dtype_size(r.dtype) > sizeof(uint32_t))
    return {"scalar access with this data type is not implemented",
            offsetof(isa_tensor_move, dtype)};
  const bool load = r.h.opcode == ISA_TENSOR_LOAD || r.h.opcode == ISA_PSEUDO_TENSOR_LOAD;
  return check_written(r.reg, load ? r.count[0] * r.count[1] : 0, offsetof(isa_tensor_move, reg));
}

// --- transfers ---

// A bound says how far an offset from an entry of the DGE table may reach.
finding_t check_bound(uint8_t bound, const isa_addr8 &address, size_t offset) {
  if (bound == 0 || address.mode == ISA_ADDR8_TABLE || address.mode == ISA_ADDR8_TABLE_REGISTER)
    return {};
  return {"bound on an address that is no entry of the DGE table", static_cast<uint32_t>(offset)};
}

finding_t check_dma_sizes(const isa_dma &r) {
  const uint64_t src_row = isa_dma_row_bytes(r.src_bytes), dst_row = isa_dma_row_bytes(r.dst_bytes);
  const uint64_t src_rows = uint64_t{r.src_count[0]} * r.src_count[1],
                 dst_rows = uint64_t{r.dst_count[0]} * r.dst_count[1];
  constexpr uint32_t at = offsetof(isa_dma, dst_bytes);
  if (std::max(src_row * src_rows, dst_row * dst_rows) > ISA_MODES_DMA_BYTES)
    return {"more than 4 GiB in one transfer", at};
  static_assert(ISA_MODES_DMA_BYTES == 4ull << 30);
  if (src_rows > ISA_MODES_DMA_ROWS)
    return {"more than 16777216 rows in one transfer", offsetof(isa_dma, src_count)};
  if (dst_rows > ISA_MODES_DMA_ROWS)
    return {"more than 16777216 rows in one transfer", offsetof(isa_dma, dst_count)};
  static_assert(ISA_MODES_DMA_ROWS == 16777216);
  if (r.src_dtype == r.dst_dtype)
    return src_row * src_rows == dst_row * dst_rows
               ? finding_t{}
               : finding_t{"the two sides differ in bytes", at};
  const uint32_t from = isa_dtype_size(r.src_dtype), to = isa_dtype_size(r.dst_dtype);
  if (from == 0 || to == 0 || src_row % from != 0 || dst_row % to != 0 ||
      src_row / from != dst_row / to || src_rows != dst_rows)
    return {"a cast between rows of different lengths", at};
  return {};
}

finding_t check_dma(const isa_dma &r) {
  if (r.config != 0)
    return {"configuration byte of a DMA record is not implemented", offsetof(isa_dma, config)};
  const finding_t f = first_of(check_bound(r.src_bound, r.src, offsetof(isa_dma, src_bound)),
                               check_bound(r.dst_bound, r.dst, offsetof(isa_dma, dst_bound)));
  return f.text ? f : check_dma_sizes(r);
}

// --- by opcode ---

finding_t check_computing(const isa_record *record) {
  switch (record->h.opcode) {
    case ISA_LDWEIGHTS:
      return check_ldweights(as<isa_ldweights>(record));
    case ISA_MATMUL:
      return check_matmul(as<isa_matmul>(record));
    case ISA_ACTIVATE:
      return check_activate(as<isa_activate>(record));
    case ISA_TENSOR_TENSOR:
      return check_tensor_tensor(as<isa_tensor_tensor>(record));
    case ISA_TENSOR_SCALAR:
      return check_tensor_scalar(as<isa_tensor_scalar>(record));
    case ISA_TENSOR_REDUCE:
      return check_reduce(as<isa_copy>(record));
    case ISA_COPY:
    case ISA_CAST:
    case ISA_RECIPROCAL: {
      const auto r = as<isa_copy>(record);
      return same_elements(r.src, r.dst, offsetof(isa_copy, src.count));
    }
    case ISA_MEMSET:
      return check_memset(as<isa_memset>(record));
    case ISA_IOTA: {
      const auto r = as<isa_iota>(record);
      return same_elements(r.pattern, r.dst, offsetof(isa_iota, pattern.count),
                           "pattern and destination differ in their elements per lane");
    }
    case ISA_AFFINE_SELECT:
      return check_affine_select(as<isa_affine_select>(record));
    default:
      return {};
  }
}

finding_t check_steering(const isa_record *record) {
  switch (record->h.opcode) {
    case ISA_MOVE: {
      const auto r = as<isa_move>(record);
      return check_written(r.dst, r.count, offsetof(isa_move, dst));
    }
    case ISA_ALU_OP:
      return check_alu(as<isa_alu>(record));
    case ISA_COMPARE_BRANCH:
      return check_branch(as<isa_compare_branch>(record));
    case ISA_TENSOR_LOAD:
    case ISA_TENSOR_STORE:
    case ISA_PSEUDO_TENSOR_LOAD:
    case ISA_PSEUDO_TENSOR_STORE:
      return check_tensor_move(as<isa_tensor_move>(record));
    case ISA_DMAMEMCPY:
    case ISA_PSEUDO_DMA_DIRECT2D:
      return check_dma(as<isa_dma>(record));
    default:
      return {};
  }
}

}  // namespace

const char *isa_modes_check(const isa_record *record, uint32_t *offset) {
  finding_t f = check_shapes(record);
  if (!f.text)
    f = first_of(check_computing(record), check_steering(record));
  if (!f.text)
    f = check_overlap(record);
  if (f.text && offset)
    *offset = f.offset;
  return f.text;
}

bool isa_modes_function(uint8_t id) {
  return (id >= 1 && id <= 13) || id == 19 || (id >= 21 && id <= 26) || (id >= 28 && id <= 38) ||
         (id >= 128 && id <= 130);
}
