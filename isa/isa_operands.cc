// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "isa/isa_fields.h"
#include "isa/isa_table.h"

namespace {

template <typename T>
const T *as(const isa_record *record) {
  return reinterpret_cast<const T *>(record);
}

// --------------------------------------------------------------------------------------

struct operand_list_t {
  isa_operand_t *operands;
  uint32_t n = 0;

  template <typename P>
  isa_operand_t *add(const char *role, const P &pattern, uint8_t dtype, uint8_t lanes, bool write) {
    const isa_pattern_view_t v =
        isa_view_pattern(reinterpret_cast<const uint8_t *>(&pattern), sizeof(pattern));
    isa_operand_t *o = &operands[n++];
    *o = {};
    o->addr4 = v.addr4;
    o->dtype = dtype;
    o->element_bytes = static_cast<uint8_t>(isa_dtype_size(dtype));
    o->dims = v.dims;
    o->lanes = lanes;
    memcpy(o->step, v.step, sizeof(o->step));
    memcpy(o->count, v.count, sizeof(o->count));
    o->write = write;
    o->role = role;
    return o;
  }
  // One value per lane.
  void add_scalar(const char *role, uint32_t addr4, uint8_t dtype, uint8_t lanes) {
    add(role, isa_pattern1{addr4, {0}, {1}}, dtype, lanes, false);
  }
};

void ldweights_operands(const isa_ldweights *r, operand_list_t *list) {
  list->add("src", r->src, r->dtype, r->rows, false);
}

void matmul_operands(const isa_matmul *r, operand_list_t *list) {
  list->add("src", r->src, r->dtype, r->rows, false);
  uint8_t dtype = ISA_DTYPE_FP32;
  if (r->transpose)
    dtype = r->dtype;  // exact, in elements of the input's size
  else if (r->out_dtype != ISA_DTYPE_INVALID)
    dtype = r->out_dtype;
  else if (r->dtype == ISA_DTYPE_UINT8)
    dtype = ISA_DTYPE_UINT32;
  list->add("dst", r->dst, dtype, r->columns, true)->also_read = !(r->flags & ISA_MATMUL_BEGIN);
}

void activate_operands(const isa_activate *r, operand_list_t *list) {
  list->add("src", r->src, r->in_bias_dtype & 0xF, r->channels, false);
  if (r->scale_source == ISA_SOURCE_POINTER)
    list->add_scalar("scale", r->scale, ISA_DTYPE_FP32, r->channels);
  if (r->bias_source == ISA_BIAS_POINTER)
    list->add_scalar("bias", r->bias, r->in_bias_dtype >> 4, r->channels);
  list->add("dst", r->dst, r->out_dtype, r->channels, true);
}

void tensor_tensor_operands(const isa_tensor_tensor *r, operand_list_t *list) {
  list->add("src0", r->src0, r->in_dtypes & 0xF, r->channels, false);
  list->add("src1", r->src1, r->in_dtypes >> 4, r->channels, false);
  list->add("dst", r->dst, r->out_dtype, r->channels, true);
}

void tensor_scalar_operands(const isa_tensor_scalar *r, operand_list_t *list) {
  list->add("src", r->src, r->in_dtype, r->channels, false);
  if (r->imm0_source == ISA_SOURCE_POINTER)
    list->add_scalar("imm0", r->imm0, ISA_DTYPE_FP32, r->channels);
  if (r->imm1_source == ISA_SOURCE_POINTER)
    list->add_scalar("imm1", r->imm1, ISA_DTYPE_FP32, r->channels);
  list->add("dst", r->dst, r->out_dtype, r->channels, true);
}

void copy_operands(const isa_copy *r, operand_list_t *list) {
  list->add("src", r->src, r->in_dtype, r->channels, false);
  list->add("dst", r->dst, r->out_dtype, r->channels, true);
}

void affine_select_operands(const isa_affine_select *r, operand_list_t *list) {
  list->add("src", r->src, r->dtypes & 0xF, r->channels, false);
  list->add("dst", r->dst, r->dtypes >> 4, r->channels, true);
}

}  // namespace

uint32_t isa_operands(const isa_record *record, isa_operand_t operands[ISA_MAX_OPERANDS]) {
  operand_list_t list{operands};
  switch (record->h.opcode) {
    case ISA_LDWEIGHTS:
      ldweights_operands(as<isa_ldweights>(record), &list);
      break;
    case ISA_MATMUL:
      matmul_operands(as<isa_matmul>(record), &list);
      break;
    case ISA_ACTIVATE:
      activate_operands(as<isa_activate>(record), &list);
      break;
    case ISA_TENSOR_TENSOR:
      tensor_tensor_operands(as<isa_tensor_tensor>(record), &list);
      break;
    case ISA_TENSOR_SCALAR:
      tensor_scalar_operands(as<isa_tensor_scalar>(record), &list);
      break;
    case ISA_TENSOR_REDUCE:
    case ISA_COPY:
    case ISA_CAST:
    case ISA_RECIPROCAL:
      copy_operands(as<isa_copy>(record), &list);
      break;
    case ISA_MEMSET: {
      const auto *r = as<isa_memset>(record);
      list.add("dst", r->dst, r->dtype, r->channels, true);
      break;
    }
    case ISA_IOTA: {
      const auto *r = as<isa_iota>(record);
      list.add("dst", r->dst, r->out_dtype, r->channels, true);
      break;
    }
    case ISA_AFFINE_SELECT:
      affine_select_operands(as<isa_affine_select>(record), &list);
      break;
    default:
      break;
  }
  return list.n;
}

bool isa_operand_range(const isa_operand_t *operand, uint32_t sbuf_bytes, bool *psum,
                       uint32_t *partition, uint32_t *begin, uint32_t *end) {
  *psum = isa_addr4_is_psum(operand->addr4);
  const uint32_t pitch = *psum ? ISA_PSUM_PITCH : ISA_SBUF_PITCH;
  const uint32_t limit = *psum ? ISA_PSUM_PARTITION_BYTES : sbuf_bytes;
  const uint32_t flat = (operand->addr4 & ISA_ADDR4_ADDRESS) - (*psum ? ISA_PSUM_BASE : 0);
  *partition = flat / pitch;
  // At most 4 * 2^15 * 2^16 elements of 8 bytes: 64 bits hold them.
  int64_t low = 0, high = 0;
  for (int d = 0; d < 4; d++) {
    if (operand->count[d] == 0)
      return false;
    const int64_t last = static_cast<int64_t>(operand->step[d]) * (operand->count[d] - 1);
    (last < 0 ? low : high) += last;
  }
  const int64_t first = flat % pitch + low * operand->element_bytes;
  const int64_t behind = flat % pitch + (high + 1) * operand->element_bytes;
  if (first < 0 || behind > limit || *partition + operand->lanes > ISA_PARTITIONS)
    return false;
  *begin = static_cast<uint32_t>(first);
  *end = static_cast<uint32_t>(behind);
  return true;
}
