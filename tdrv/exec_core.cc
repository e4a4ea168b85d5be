// SPDX-License-Identifier: Apache-2.0
#include "tdrv/exec_core.h"

#include <cstring>

#include "base/nlog.h"
#include "hal/dma.h"
#include "hal/exec.h"
#include "hal/regs.h"
#include "hal/sync.h"

namespace {

constexpr uint32_t kStatusBytes = 4096;  // 256 records; a run writes two
constexpr uint32_t kErrorBytes = 65536;  // 4,096 records
constexpr uint32_t kQueues = ISA_ENGINE_COUNT + 1;
constexpr uint32_t kDmaNormal = 2, kDmaAbort = 3;  // uapi.md 5.3
constexpr uint64_t kSettleNs = 1'000'000'000;
constexpr size_t kBlockAlignment = 64;

hal_device_t *device_of(const exec_core_t *core) {
  return core->tpb->pcore.device;
}

uint32_t nc_of(const exec_core_t *core) {
  return core->tpb->pcore.nc_id;
}

NRT_STATUS fail(const exec_core_t *core, const char *what, int error) {
  NLOG_ERROR(NLOG_TDRV, "nd{} nc{}: {}: {}", core->tpb->pcore.device_id, nc_of(core), what,
             hal_error_name(error));
  return NRT_FAILURE;
}

// What was stored to mapped memory has to be there before the engines hear of it: such mappings may
// be write-combining.
void flush_stores() {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#else
  __sync_synchronize();
#endif
}

NRT_STATUS make_block(exec_core_t *core) {
  tpb_t *tpb = core->tpb;
  NRT_STATUS status = dmem_alloc_aligned(tpb->global_allocator, sizeof(resident_block_t),
                                         dma_mem_location_t::TONGA_DRAM, tpb->pcore.hbm_index,
                                         nullptr, dma_mem_usage_type_t::GENERIC, "resident loops",
                                         kBlockAlignment, &core->block);
  if (status != NRT_SUCCESS)
    return status;
  core->mapped = static_cast<resident_block_t *>(dmem_get_va(core->block));
  if (core->mapped == nullptr)
    return NRT_FAILURE;
  uint64_t address = dmem_get_pa(core->block);
  for (uint32_t e = 0; e < ISA_ENGINE_COUNT; ++e)
    core->core.done[e] = resident_done(address, e);
  resident_build(address, core->mapped);
  flush_stores();
  return NRT_SUCCESS;
}

NRT_STATUS make_queues(exec_core_t *core) {
  const physical_core_t *pcore = &core->tpb->pcore;
  NRT_STATUS status = nqueue_init(&core->errors, pcore, PROJECT_NQ_ERROR, true, kErrorBytes);
  for (uint32_t e = 0; e < ISA_ENGINE_COUNT && status == NRT_SUCCESS; ++e)
    status = nqueue_init(&core->status[e], pcore, PROJECT_NQ_STATUS + e, false, kStatusBytes);
  return status;
}

// All engines at the heads of their loops. 0 or -errno.
int start_engines(exec_core_t *core) {
  constexpr uint32_t kEach = 3;
  uint64_t offsets[ISA_ENGINE_COUNT * kEach];
  uint32_t values[ISA_ENGINE_COUNT * kEach];
  constexpr uint64_t kRegisters[kEach] = {PROJECT_ENGINE_PC_LOW, PROJECT_ENGINE_PC_HIGH,
                                          PROJECT_ENGINE_CONTROL};
  for (uint32_t e = 0; e < ISA_ENGINE_COUNT; ++e) {
    uint64_t head = resident_head(dmem_get_pa(core->block), e);
    uint32_t *value = &values[e * kEach];
    value[0] = static_cast<uint32_t>(head);
    value[1] = static_cast<uint32_t>(head >> 32);
    value[2] = 1;
    for (uint32_t i = 0; i < kEach; ++i)
      offsets[e * kEach + i] = hal_engine_register(device_of(core), nc_of(core), e, kRegisters[i]);
  }
  return hal_registers_write(device_of(core), offsets, values, ISA_ENGINE_COUNT * kEach);
}

// Every record left in a queue belongs to the run that has failed.
void drain(nqueue_t *queue) {
  project_notification_t record;
  while (nqueue_next(queue, &record)) {
  }
}

// 0 or -errno.
int clear_dma_aborts(exec_core_t *core) {
  int engine;
  while ((engine = exec_core_aborted_dma(core)) >= 0) {
    int result =
        hal_dma_engine_set_state(device_of(core), static_cast<uint32_t>(engine), kDmaNormal);
    if (result != 0)
      return result;
    if (exec_core_aborted_dma(core) == engine)
      return -EIO;
  }
  return 0;
}

}  // namespace

NRT_STATUS exec_core_start(exec_core_t *core, tpb_t *tpb) {
  *core = {};
  core->tpb = tpb;
  NRT_STATUS status = make_block(core);
  if (status == NRT_SUCCESS)
    status = make_queues(core);
  if (status == NRT_SUCCESS) {
    // Without a reset at nrt_init somebody else's counts are still there.
    int result = hal_core_sync_clear(device_of(core), nc_of(core));
    if (result == 0)
      result = start_engines(core);
    if (result != 0)
      status = fail(core, "the engines cannot be started", result);
  }
  core->running = status == NRT_SUCCESS;
  if (status != NRT_SUCCESS)
    exec_core_stop(core);
  return status;
}

void exec_core_stop(exec_core_t *core) {
  if (core->tpb == nullptr)
    return;
  if (core->block != nullptr) {
    (void)exec_core_halt(core);
    // Whoever runs the core's records gets out of them before their memory goes.
    hal_core_state_t state;
    (void)hal_core_wait(device_of(core), nc_of(core), kSettleNs, &state);
  }
  nqueue_fini(&core->errors);
  for (nqueue_t &queue : core->status)
    nqueue_fini(&queue);
  dmem_free(core->block);
  *core = {};
}

void exec_core_post(exec_core_t *core, const uint64_t images[ISA_ENGINE_COUNT]) {
  project_request_t *request = &core->mapped->request;
  request->model_switch = 1;
  for (uint32_t e = 0; e < ISA_ENGINE_COUNT; ++e) {
    request->image_low[e] = static_cast<uint32_t>(images[e]);
    request->image_high[e] = static_cast<uint32_t>(images[e] >> 32);
  }
  flush_stores();
}

int exec_core_doorbell(exec_core_t *core) {
  return hal_semaphore_increment(device_of(core), nc_of(core), PROJECT_SEM_START, 1);
}

int exec_core_halt(exec_core_t *core) {
  uint64_t offsets[ISA_ENGINE_COUNT];
  uint32_t values[ISA_ENGINE_COUNT] = {};
  for (uint32_t e = 0; e < ISA_ENGINE_COUNT; ++e)
    offsets[e] = hal_engine_register(device_of(core), nc_of(core), e, PROJECT_ENGINE_CONTROL);
  return hal_registers_write(device_of(core), offsets, values, ISA_ENGINE_COUNT);
}

NRT_STATUS exec_core_restart(exec_core_t *core) {
  int result = exec_core_halt(core);
  if (result == 0) {
    // Transfers that are under way end before the counts they raise are cleared.
    hal_core_state_t state;
    result = hal_core_wait(device_of(core), nc_of(core), kSettleNs, &state);
  }
  if (result == 0)
    result = hal_core_dma_reset(device_of(core), nc_of(core));
  if (result == 0)
    result = clear_dma_aborts(core);
  if (result == 0)
    result = hal_core_sync_clear(device_of(core), nc_of(core));
  if (result == 0) {
    drain(&core->errors);
    for (nqueue_t &queue : core->status)
      drain(&queue);
    (void)exec_core_take_overflow(core);
    result = exec_core_write_heads(core);
  }
  if (result == 0)
    result = start_engines(core);
  return result == 0 ? NRT_SUCCESS : fail(core, "the engines cannot be restarted", result);
}

void exec_core_harvest(exec_core_t *core, exec_harvest_t *harvest) {
  for (uint32_t e = 0; e < ISA_ENGINE_COUNT; ++e) {
    project_notification_t record;
    while (harvest->engines[e] != EXEC_COMPLETE && nqueue_next(&core->status[e], &record)) {
      ++harvest->records;
      if ((record.type_flags & PROJECT_NOTIFY_OVERFLOW) != 0)
        harvest->overflow = true;
      bool start = record.extended_hint == PROJECT_HINT_START;
      if (!start && record.extended_hint != PROJECT_HINT_END)
        continue;  // a notification of the program's own
      exec_engine_state_t due = start ? EXEC_START_PENDING : EXEC_END_PENDING;
      if (harvest->engines[e] != due) {
        harvest->out_of_order = true;
        harvest->out_of_order_engine = e;
        return;
      }
      harvest->engines[e] = start ? EXEC_END_PENDING : EXEC_COMPLETE;
      harvest->complete += start ? 0 : 1;
    }
  }
}

int exec_core_pc(const exec_core_t *core, uint32_t engine, uint64_t *pc) {
  const uint64_t offsets[] = {
      hal_engine_register(device_of(core), nc_of(core), engine, PROJECT_ENGINE_PC_LOW),
      hal_engine_register(device_of(core), nc_of(core), engine, PROJECT_ENGINE_PC_HIGH)};
  uint32_t values[2];
  int result = hal_registers_read(device_of(core), offsets, values, 2);
  *pc = result != 0 ? 0 : values[0] | uint64_t{values[1]} << 32;
  return result;
}

int exec_core_write_heads(exec_core_t *core) {
  uint64_t offsets[kQueues];
  uint32_t values[kQueues];
  for (uint32_t i = 0; i < kQueues; ++i) {
    const nqueue_t *queue = i < ISA_ENGINE_COUNT ? &core->status[i] : &core->errors;
    offsets[i] = hal_notification_head_register(device_of(core), nc_of(core), queue->queue);
    values[i] = queue->head;
  }
  return hal_registers_write(device_of(core), offsets, values, kQueues);
}

bool exec_core_take_overflow(exec_core_t *core) {
  uint64_t offset = hal_notification_cause_register(device_of(core), nc_of(core));
  uint32_t cause = 0;
  if (hal_registers_read(device_of(core), &offset, &cause, 1) != 0 ||
      (cause & PROJECT_NQ_CAUSE_OVERFLOW) == 0)
    return false;
  cause = PROJECT_NQ_CAUSE_OVERFLOW;
  (void)hal_registers_write(device_of(core), &offset, &cause, 1);
  return true;
}

int exec_core_aborted_dma(exec_core_t *core) {
  uint32_t first, count;
  hal_core_dma_engines(device_of(core), nc_of(core), &first, &count);
  for (uint32_t i = 0; i < count; ++i) {
    hal_dma_engine_state_t state;
    if (hal_dma_engine_get_state(device_of(core), first + i, &state) == 0 &&
        (state.tx_state == kDmaAbort || state.rx_state == kDmaAbort))
      return static_cast<int>(first + i);
  }
  return -1;
}
