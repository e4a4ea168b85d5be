// SPDX-License-Identifier: Apache-2.0
// Why a core cannot go on, in words.
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "mock_dev/core_pool.h"
#include "mock_dev/core_text.h"
#include "mock_dev/engine.h"
#include "mock_dev/engine_registers.h"
#include "mock_dev/exec_state.h"

namespace {

const char *comparison(uint8_t mode) {
  constexpr const char *TEXT[] = {"?", "==", "<", "<=", ">", ">="};
  mode &= static_cast<uint8_t>(~ISA_WAIT_REGISTER);
  return mode < std::size(TEXT) ? TEXT[mode] : "?";
}

void add_record(mock_text_t *text, const isa_record *record) {
  const char *name = isa_opcode_name(record->h.opcode);
  if (name != nullptr)
    mock_text_add(text, " %s", name);
  else
    mock_text_add(text, " opcode 0x%02x", record->h.opcode);
}

void add_wait(mock_text_t *text, const mock_core_t *core, const mock_engine_t *arch,
              const mock_wait_t *wait) {
  int32_t seen = mock_wait_seen(core, wait);
  if (mock_wait_is_event(wait->mode)) {
    bool set = wait->mode == ISA_WAIT_EVENT_SET || wait->mode == ISA_WAIT_EVENT_SET_CLEAR;
    return mock_text_add(text, " waits for event %u to be %s, it is %s", wait->index,
                         set ? "set" : "clear", seen != 0 ? "set" : "clear");
  }
  mock_text_add(text, " waits for semaphore %u %s %d, it is %d", wait->index,
                comparison(wait->mode), mock_wait_value(arch, wait), seen);
}

// The record the engine stands at; false: there is none.
bool record_at(const mock_core_t *core, uint64_t pc, isa_record *record) {
  mock_target_t target;
  if (!mock_decode(core->host, core->device->index, pc, sizeof(*record), &target) ||
      !mock_target_is_memory(target.kind))
    return false;
  const uint8_t *bytes = mock_memory_bytes(core->host, target.place.memory);
  if (bytes == nullptr)
    return false;
  memcpy(record, bytes + target.place.offset, sizeof(*record));
  return true;
}

void add_engine(mock_text_t *text, const mock_core_t *core, uint32_t e) {
  const mock_engine_t *arch = &core->arch[e];
  const mock_engine_run_t *run = &core->engines[e];
  uint32_t status = mock_engine_status(arch);
  mock_text_add(text, "%s: ", isa_engine_name(e));
  if (status == PROJECT_ENGINE_HALTED)
    return mock_text_add(text, "halted\n");
  if (status == PROJECT_ENGINE_FAULTED && run->fault != nullptr) {
    mock_text_place(text, core, run->fault_pc);
    add_record(text, &run->fault_record);
    return mock_text_add(text, " failed: %s\n", run->fault);
  }
  uint64_t pc = mock_engine_pc(arch);
  isa_record record;
  mock_text_place(text, core, pc);
  if (!record_at(core, pc, &record))
    return mock_text_add(text, ", no memory there\n");
  add_record(text, &record);
  mock_wait_t waits[2];
  mock_engine_waits(&record, waits);
  bool any = false;
  for (const mock_wait_t &wait : waits) {
    if (wait.mode == ISA_WAIT_NONE || mock_wait_holds(core, arch, &wait))
      continue;
    mock_text_add(text, "%s", any ? " and" : "");
    add_wait(text, core, arch, &wait);
    any = true;
  }
  if (!any)
    mock_text_add(text, " can go on");
  if (__atomic_load_n(&arch->active, __ATOMIC_ACQUIRE) == 0)
    mock_text_add(text, " (not in a run)");
  mock_text_add(text, "\n");
}

}  // namespace

size_t mock_core_report(mock_host_t *host, uint32_t device, uint32_t core_index, char *text,
                        size_t size) {
  mock_text_t t = {text, size, 0};
  if (size != 0)
    *text = '\0';
  mock_core_t *core = mock_core_at(host, device, core_index);
  if (core == nullptr)
    return 0;
  mock_exec_hold_t hold(host->exec);
  bool runs = __atomic_load_n(&core->run, __ATOMIC_ACQUIRE) != MOCK_RUN_NONE;
  if (runs || core->window == nullptr) {
    mock_text_add(&t, "core %u of device %u: %s\n", core_index, device,
                  runs ? "runs" : "has not run yet");
    return t.length;
  }
  for (uint32_t e = 0; e < ISA_ENGINE_COUNT; ++e)
    add_engine(&t, core, e);
  return t.length;
}

// --- names --------------------------------------------------------------------------------------

int mock_exec_names(mock_host_t *host, uint32_t device, uint32_t core_index,
                    const mock_name_t *names, size_t count) {
  mock_core_t *core = mock_core_at(host, device, core_index);
  if (core == nullptr || (count != 0 && names == nullptr))
    return -EINVAL;
  mock_core_names_t fresh = {};
  int rc = mock_names_copy(names, count, &fresh);
  if (rc != 0)
    return rc;
  {
    mock_exec_hold_t hold(host->exec);
    std::swap(core->names, fresh);
  }
  mock_names_free(&fresh);
  return 0;
}
