// SPDX-License-Identifier: Apache-2.0
// Operands whose address is in a register (neuroncore-isa.md 1.3): ADDR4 with bit 31 names one in
// its low byte; the register holds the address.
#include <cstddef>
#include <cstring>

#include "mock_dev/engine.h"

namespace {

constexpr uint32_t MAX_ADDRESSES = 4;

// Offsets of the ADDR4 words of a record; how many.
uint32_t addresses_of(const isa_record *record, uint32_t at[MAX_ADDRESSES]) {
  uint32_t n = 0;
  switch (record->h.opcode) {
    case ISA_LDWEIGHTS:
      at[n++] = offsetof(isa_ldweights, src);
      break;
    case ISA_MATMUL:
      at[n++] = offsetof(isa_matmul, src);
      at[n++] = offsetof(isa_matmul, dst);
      break;
    case ISA_ACTIVATE: {
      const auto *r = reinterpret_cast<const isa_activate *>(record);
      at[n++] = offsetof(isa_activate, src);
      at[n++] = offsetof(isa_activate, dst);
      if (r->scale_source == ISA_SOURCE_POINTER)
        at[n++] = offsetof(isa_activate, scale);
      if (r->bias_source == ISA_BIAS_POINTER)
        at[n++] = offsetof(isa_activate, bias);
      break;
    }
    case ISA_TENSOR_TENSOR:
      at[n++] = offsetof(isa_tensor_tensor, src0);
      at[n++] = offsetof(isa_tensor_tensor, src1);
      at[n++] = offsetof(isa_tensor_tensor, dst);
      break;
    case ISA_TENSOR_SCALAR: {
      const auto *r = reinterpret_cast<const isa_tensor_scalar *>(record);
      at[n++] = offsetof(isa_tensor_scalar, src);
      at[n++] = offsetof(isa_tensor_scalar, dst);
      if (r->imm0_source == ISA_SOURCE_POINTER)
        at[n++] = offsetof(isa_tensor_scalar, imm0);
      if (r->imm1_source == ISA_SOURCE_POINTER)
        at[n++] = offsetof(isa_tensor_scalar, imm1);
      break;
    }
    case ISA_TENSOR_REDUCE:
    case ISA_COPY:
    case ISA_CAST:
    case ISA_RECIPROCAL:
      at[n++] = offsetof(isa_copy, src);
      at[n++] = offsetof(isa_copy, dst);
      break;
    case ISA_MEMSET:
      at[n++] = offsetof(isa_memset, dst);
      break;
    case ISA_IOTA:
      at[n++] = offsetof(isa_iota, dst);
      break;
    case ISA_AFFINE_SELECT:
      at[n++] = offsetof(isa_affine_select, src);
      at[n++] = offsetof(isa_affine_select, dst);
      break;
    default:
      break;
  }
  return n;
}

}  // namespace

const char *mock_engine_resolve(const mock_engine_t *arch, isa_record *record, bool *changed) {
  *changed = false;
  uint32_t at[MAX_ADDRESSES];
  uint32_t count = addresses_of(record, at);
  for (uint32_t i = 0; i < count; ++i) {
    uint8_t *field = reinterpret_cast<uint8_t *>(record) + at[i];
    uint32_t addr4;
    memcpy(&addr4, field, sizeof(addr4));
    if ((addr4 & ISA_ADDR4_REGISTER) == 0)
      continue;
    addr4 = arch->registers[addr4 & ISA_ADDR4_ADDRESS];
    if ((addr4 & ~ISA_ADDR4_ADDRESS) != 0)
      return "register does not hold an engine address";
    memcpy(field, &addr4, sizeof(addr4));
    *changed = true;
  }
  return nullptr;
}
