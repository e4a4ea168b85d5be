// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/compute.h"

#include "mock_dev/activate.h"
#include "mock_dev/elementwise.h"
#include "mock_dev/pe.h"
#include "mock_dev/reduce.h"
#include "mock_dev/select.h"

mock_compute_fn mock_compute_find(uint8_t opcode) {
  switch (opcode) {
    case ISA_LDWEIGHTS:
      return mock_pe_ldweights;
    case ISA_MATMUL:
      return mock_pe_matmul;
    case ISA_ACTIVATE:
      return mock_activate;
    case ISA_TENSOR_TENSOR:
      return mock_tensor_tensor;
    case ISA_TENSOR_SCALAR:
      return mock_tensor_scalar;
    case ISA_COPY:
      return mock_copy;
    case ISA_CAST:
      return mock_cast;
    case ISA_RECIPROCAL:
      return mock_reciprocal;
    case ISA_MEMSET:
      return mock_memset;
    case ISA_TENSOR_REDUCE:
      return mock_tensor_reduce;
    case ISA_IOTA:
      return mock_iota;
    case ISA_AFFINE_SELECT:
      return mock_affine_select;
    default:
      return nullptr;
  }
}
