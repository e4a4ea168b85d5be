// SPDX-License-Identifier: Apache-2.0
// The machines the mock can be: instance types as data, and what follows from them.
#pragma once

#include <cstdint>

#include "uapi/neuron_shared.h"

enum mock_topology_t {
  MOCK_TOPOLOGY_NONE,
  MOCK_TOPOLOGY_TRN1_TORUS,
  MOCK_TOPOLOGY_TRN2_TORUS,
  MOCK_TOPOLOGY_RING,
  MOCK_TOPOLOGY_CHAIN,
};

enum mock_chip_t { MOCK_CHIP_TRN1, MOCK_CHIP_INF2, MOCK_CHIP_TRN2 };

struct mock_instance_t {
  const char *name;  // also the DMI product name
  uint32_t arch;     // NEURON_ARCH_*
  uint32_t devices;
  mock_topology_t topology;
  bool routed;  // device numbers come from routing ids (Trn1, Trn2)
  mock_chip_t chip;
};

// nullptr for an unknown name.
const mock_instance_t *mock_instance_find(const char *name);
const mock_instance_t *mock_instance_at(uint32_t index);  // nullptr past the end
uint32_t mock_instance_index(const mock_instance_t *instance);

// Neighbours of a device in the driver's order; returns how many.
uint32_t mock_instance_neighbours(const mock_instance_t *instance, uint32_t device,
                                  uint32_t out[NEURON_MAX_NEIGHBOURS]);

uint32_t mock_instance_routing_id(const mock_instance_t *instance, uint32_t device);

// Serial number of a device: a constant of ours plus its number.
inline uint64_t mock_instance_serial(uint32_t device) {
  return 0x0e0c000000000000ull + device;
}
