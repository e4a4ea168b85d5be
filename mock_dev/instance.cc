// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/instance.h"

#include <cstring>

#include "mock_dev/mock_dev.h"

namespace {

constexpr mock_instance_t INSTANCES[] = {
    {"inf2.xlarge", NEURON_ARCH_V2, 1, MOCK_TOPOLOGY_NONE, false, MOCK_CHIP_INF2},
    {"inf2.24xlarge", NEURON_ARCH_V2, 6, MOCK_TOPOLOGY_CHAIN, false, MOCK_CHIP_INF2},
    {"inf2.48xlarge", NEURON_ARCH_V2, 12, MOCK_TOPOLOGY_RING, false, MOCK_CHIP_INF2},
    {"trn1.2xlarge", NEURON_ARCH_V2, 1, MOCK_TOPOLOGY_NONE, true, MOCK_CHIP_TRN1},
    {"trn1.32xlarge", NEURON_ARCH_V2, 16, MOCK_TOPOLOGY_TRN1_TORUS, true, MOCK_CHIP_TRN1},
    {"trn2.3xlarge", NEURON_ARCH_V3, 1, MOCK_TOPOLOGY_NONE, true, MOCK_CHIP_TRN2},
    {"trn2.48xlarge", NEURON_ARCH_V3, 16, MOCK_TOPOLOGY_TRN2_TORUS, true, MOCK_CHIP_TRN2},
};
constexpr uint32_t INSTANCE_COUNT = sizeof(INSTANCES) / sizeof(INSTANCES[0]);

// Same four neighbours as the Trn1 torus, in the order of the links between core pairs.
constexpr uint8_t TRN2_NEIGHBOURS[16][4] = {
    {12, 1, 3, 4},  {0, 13, 5, 2},  {14, 3, 1, 6},   {2, 15, 7, 0},
    {8, 5, 7, 0},   {4, 9, 1, 6},   {10, 7, 5, 2},   {6, 11, 3, 4},
    {4, 9, 11, 12}, {8, 5, 13, 10}, {6, 11, 9, 14},  {10, 7, 15, 8},
    {0, 13, 15, 8}, {12, 1, 9, 14}, {2, 15, 13, 10}, {14, 3, 11, 12},
};

}  // namespace

const mock_instance_t *mock_instance_find(const char *name) {
  for (const mock_instance_t &i : INSTANCES)
    if (strcmp(i.name, name) == 0)
      return &i;
  return nullptr;
}

const mock_instance_t *mock_instance_at(uint32_t index) {
  return index < INSTANCE_COUNT ? &INSTANCES[index] : nullptr;
}

uint32_t mock_instance_index(const mock_instance_t *instance) {
  return static_cast<uint32_t>(instance - INSTANCES);
}

uint32_t mock_instance_neighbours(const mock_instance_t *instance, uint32_t device,
                                  uint32_t out[NEURON_MAX_NEIGHBOURS]) {
  uint32_t n = instance->devices;
  uint32_t block = device & ~15u, d = device & 15u, row = d & ~3u;
  switch (instance->topology) {
    case MOCK_TOPOLOGY_TRN1_TORUS:
      out[0] = block + ((d + 12) & 15u);
      out[1] = block + row + ((d + 3) & 3u);
      out[2] = block + ((d + 4) & 15u);
      out[3] = block + row + ((d + 1) & 3u);
      return 4;
    case MOCK_TOPOLOGY_TRN2_TORUS:
      for (uint32_t i = 0; i < 4; ++i)
        out[i] = block + TRN2_NEIGHBOURS[d][i];
      return 4;
    case MOCK_TOPOLOGY_RING:
      out[0] = (device + n - 1) % n;
      out[1] = (device + 1) % n;
      return 2;
    case MOCK_TOPOLOGY_CHAIN: {
      uint32_t count = 0;
      if (device > 0)
        out[count++] = device - 1;
      if (device + 1 < n)
        out[count++] = device + 1;
      return count;
    }
    case MOCK_TOPOLOGY_NONE:
      break;
  }
  return 0;
}

uint32_t mock_instance_routing_id(const mock_instance_t *instance, uint32_t device) {
  if (!instance->routed)
    return device;
  return neuron_device_to_routing_id(instance->arch == NEURON_ARCH_V3 ? 1 : 0, device);
}

const char *const *mock_instance_names(void) {
  static const char *const names[INSTANCE_COUNT + 1] = {
      INSTANCES[0].name, INSTANCES[1].name, INSTANCES[2].name, INSTANCES[3].name,
      INSTANCES[4].name, INSTANCES[5].name, INSTANCES[6].name, nullptr,
  };
  static_assert(INSTANCE_COUNT == 7);
  return names;
}
