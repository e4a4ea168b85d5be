// SPDX-License-Identifier: Apache-2.0
// Devices that read some records wrongly, where no changed record stands for that: after each
// record the machine has executed, the core gets the state such a device would have left it in.
// Without a seed only, so that nothing happens between a record and its effect.
#pragma once

#include <atomic>
#include <functional>

#include "mock_dev/core.h"

class misreading {
 public:
  // Called by the thread that runs the core, before it looks at another record.
  using effect_t =
      std::function<void(mock_core_t *core, uint32_t engine, const isa_record &record)>;

  misreading(mock_host_t *host, effect_t effect);
  ~misreading();  // the device reads right again, and nobody is inside `effect`
  misreading(const misreading &) = delete;
  misreading &operator=(const misreading &) = delete;

 private:
  static void on_event(void *user, const mock_exec_event_t *event);

  mock_host_t *host_;
  effect_t effect_;
  std::atomic<uint32_t> cores_ = 0;  // bits of those that called, of the machine's only device
};

// 01: square weights enter the array turned, W[m, k] for W[k, m].
void transpose_weights(mock_core_t *core, uint32_t engine, const isa_record &record);
// 02 with the begin bit clears the whole 2 KiB bank in all its lanes.
void clear_bank_at_begin(mock_core_t *core, uint32_t engine, const isa_record &record);
// 02 uses the weights up.
void use_up_weights(mock_core_t *core, uint32_t engine, const isa_record &record);
// Semaphores have eight bits.
void wrap_counters(mock_core_t *core, uint32_t engine, const isa_record &record);
