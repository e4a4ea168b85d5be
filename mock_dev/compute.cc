// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/compute.h"

mock_compute_fn mock_compute_find(uint8_t opcode) {
  switch (opcode) {
    default:
      return nullptr;
  }
}
