// SPDX-License-Identifier: Apache-2.0
// One program's use of the C API under failures, and what must hold after each.
#pragma once

#include <nrt/nrt.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/faults/injector.h"

// Which of many failures a test tries: all with OPENNRT_FAULTS=all, else about `few`, evenly
// spread.
uint64_t fault_step(uint64_t events, uint64_t few);

// What the machine and the process hold.
struct holdings_t {
  std::vector<uint64_t> chunks;  // address, size and category of each, of all HBMs of all devices
  size_t descriptors = 0;
  bool operator==(const holdings_t &) const = default;
};
holdings_t holdings_now();
std::string holdings_difference(const holdings_t &before, const holdings_t &now);

// The log of the process, kept without allocating: memory is counted meanwhile.
void fault_log_start();  // once: WARN and ERROR go here only
void fault_log_clear();
size_t fault_log_errors();
size_t fault_log_warnings();
std::string fault_log_text();

struct outcome_t {
  NRT_STATUS status = NRT_SUCCESS;
  const char *call = "";  // that failed
};

// The calls a test makes. The first failure ends them; everything made is given back.
outcome_t use_model(const std::vector<uint8_t> &file);
outcome_t load_and_unload(const std::vector<uint8_t> &file);

// Whether a failed event may give this status (device-memory.md 2.5: out of memory on the device,
// of host memory for the device, of the process, anything else).
std::string unexpected_status(fault_kind_t kind, int error, const fault_report_t &report,
                              const outcome_t &outcome);
