// SPDX-License-Identifier: Apache-2.0
// Simulated time of one core: for timestamps and traces, never for results. A plain model, measured
// on nothing: a record takes SIM_ISSUE_CYCLES and as many cycles more as its largest operand has
// elements per lane; a transfer takes a latency and its bytes at one rate, however many there are
// at once. A wait ends when the update that satisfied it was made.
#pragma once

#include <cstdint>

#include "isa/isa_table.h"

constexpr uint64_t MOCK_SIM_CYCLE_PS = 714;  // 1.4 GHz
constexpr uint64_t MOCK_SIM_ISSUE_CYCLES = 64;
constexpr uint64_t MOCK_SIM_DMA_LATENCY_PS = 2000000;
constexpr uint64_t MOCK_SIM_DMA_BYTE_PS = 10;  // 100 GB/s, of rings for 16 engines together
constexpr uint64_t MOCK_SIM_PACKET_PS = 64000;

constexpr uint32_t MOCK_SIM_COUNTERS = 256;
constexpr uint32_t MOCK_SIM_HISTORY = 128;

// The last rises of a semaphore, values in ascending order.
struct mock_sim_counter_t {
  uint32_t count;  // entries ever, since the last change that was no rise
  struct {
    uint64_t ps;
    int32_t value;
  } ring[MOCK_SIM_HISTORY];
};

struct mock_sim_t {
  uint64_t clock[ISA_ENGINE_COUNT];  // ps
  uint64_t events[MOCK_SIM_COUNTERS];
  mock_sim_counter_t semaphores[MOCK_SIM_COUNTERS];
};

// No run is under way: the engines wait for the host together.
void mock_sim_align(mock_sim_t *sim);

void mock_sim_semaphore(mock_sim_t *sim, uint32_t index, int32_t value, uint64_t ps);
// When a wait for the semaphore (mode without ISA_WAIT_REGISTER) was satisfied, by what is still
// known; 0: by the host, or before.
uint64_t mock_sim_reached(const mock_sim_t *sim, uint32_t index, uint8_t mode, int32_t value);

inline uint64_t mock_sim_record_ps(uint64_t elements_per_lane) {
  return (MOCK_SIM_ISSUE_CYCLES + elements_per_lane) * MOCK_SIM_CYCLE_PS;
}
// A packet of a ring on one of 16 DMA engines, without the latency.
inline uint64_t mock_sim_packet_ps(uint64_t bytes) {
  return MOCK_SIM_PACKET_PS + bytes * MOCK_SIM_DMA_BYTE_PS * 16;
}
inline uint64_t mock_sim_transfer_ps(uint64_t bytes) {
  return MOCK_SIM_DMA_LATENCY_PS + bytes * MOCK_SIM_DMA_BYTE_PS;
}
