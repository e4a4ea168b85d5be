// SPDX-License-Identifier: Apache-2.0
// Requests that move bytes (mock-device-semantics.md 5.5). Checks happen under the device's lock,
// the bytes move outside it: memory files outlive every chunk, so a chunk freed meanwhile is a race
// in the caller and nothing worse.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/checked.h"
#include "mock_dev/bar0.h"
#include "mock_dev/call.h"
#include "mock_dev/chunk.h"
#include "mock_dev/reset.h"

namespace {

constexpr uint64_t DMA_PIECE = 64 * 1024;
constexpr uint64_t ASYNC_LIMIT = 2032 * DMA_PIECE;  // what one copy ring takes
constexpr uint64_t PIN_GROUP = 64 * MOCK_PAGE;
constexpr uint32_t WAIT_NONE = static_cast<uint32_t>(NEURON_DMA_WAIT_NONE);

struct copy_args_t {
  uint64_t src, dst, size, src_offset, dst_offset;
  uint64_t prefetch;
  uint32_t pwait;
};

template <typename T>
copy_args_t copy_args_of(const T &a) {
  copy_args_t c = {};
  c.src = a.src_mem_handle;
  c.dst = a.dst_mem_handle;
  c.size = a.size;
  c.src_offset = a.src_offset;
  c.dst_offset = a.dst_offset;
  if constexpr (requires { a.pwait_handle; }) {
    c.prefetch = a.host_prefetch_addr;
    c.pwait = a.pwait_handle;
  }
  return c;
}

struct copy_plan_t {
  mock_place_t src, dst;
  uint32_t core;  // whose copy queue an asynchronous copy takes
};

// Async slots belong to a copy queue: one per core, on v2 all cores above 0 share one.
uint32_t queue_of_core(const mock_state_t *state, uint32_t core) {
  return std::min(core, state->cores - 1);
}

mock_place_t place_at(const mock_call_t *call, const mock_chunk_t *chunk, uint64_t offset) {
  mock_place_t place = mock_chunk_place(call->host, call->device, chunk);
  place.offset += offset;
  return place;
}

// The copy queue the driver takes: with an asynchronous copy that of the source if it is device
// memory, else that of the destination; with others the other way round. Device lock held.
uint32_t copy_core(const mock_state_t *state, const mock_chunk_t *src, const mock_chunk_t *dst,
                   bool async) {
  const mock_chunk_t *first = async ? src : dst;
  const mock_chunk_t *second = async || mock_chunk_is_host(src) ? dst : src;
  return queue_of_core(state, mock_chunk_is_host(first) ? second->nc_id : first->nc_id);
}

// -EPERM: the core's copy rings are gone, a reset took them. Device lock held.
int copy_check(const mock_call_t *call, const copy_args_t *c, bool async, copy_plan_t *plan) {
  mock_host *host = call->host;
  mock_device_t *device = call->device;
  uint32_t s = mock_chunk_by_handle(host, device, c->src);
  uint32_t d = mock_chunk_by_handle(host, device, c->dst);
  if (s == 0 || d == 0)
    return -EINVAL;
  mock_chunk_t *src = mock_chunk_at(host, device, s);
  mock_chunk_t *dst = mock_chunk_at(host, device, d);
  if (!mock_chunk_holds(host, src, c->src_offset, c->size) ||
      !mock_chunk_holds(host, dst, c->dst_offset, c->size))
    return -EINVAL;
  if (c->size == 0)  // moves 64 KiB on silicon: nobody may come to rely on it
    return -EINVAL;
  plan->src = place_at(call, src, c->src_offset);
  plan->dst = place_at(call, dst, c->dst_offset);
  plan->core = copy_core(host->state, src, dst, async);
  if (!mock_reset_can_copy(host, device, plan->core))
    return -EPERM;
  mock_chunk_touch(device, dst, c->dst_offset, c->size);
  return 0;
}

int copy_run(const mock_call_t *call, const copy_plan_t *plan, uint64_t size) {
  const uint8_t *src = mock_memory_bytes(call->host, plan->src.memory);
  uint8_t *dst = mock_memory_bytes(call->host, plan->dst.memory);
  if (src == nullptr || dst == nullptr)
    return -EPERM;
  src += plan->src.offset;
  dst += plan->dst.offset;
  bool apart = plan->src.memory != plan->dst.memory || src + size <= dst || dst + size <= src;
  if (apart) {
    memcpy(dst, src, size);
    return 0;
  }
  // Overlapping: descriptor by descriptor, upwards, as the engine goes.
  for (uint64_t done = 0; done < size; done += DMA_PIECE)
    memmove(dst + done, src + done, std::min(DMA_PIECE, size - done));
  return 0;
}

struct buffer_args_t {
  uint64_t handle;
  uint8_t *buffer;
  uint64_t size, offset;
  bool to_device;
};

template <typename T>
long buffer_args_in(const mock_call_t *call, buffer_args_t *out) {
  T a;
  long missing = mock_call_in(call, &a);
  if (missing == 0)
    *out = {a.mem_handle, static_cast<uint8_t *>(a.buffer), a.size, a.offset,
            a.copy_to_mem_handle != 0};
  return missing;
}

struct buffer_plan_t {
  mock_place_t place;
  uint8_t *bytes;  // of the memory file
  bool host;
};

// `engine`: the copy engine moves the bytes, whichever memory it is; otherwise host memory is
// copied by the driver.
int buffer_check(const mock_call_t *call, const buffer_args_t *a, bool engine,
                 buffer_plan_t *plan) {
  {
    mock_guard_t guard(&call->device->lock);
    uint32_t n = mock_chunk_by_handle(call->host, call->device, a->handle);
    if (n == 0)
      return -EINVAL;
    mock_chunk_t *chunk = mock_chunk_at(call->host, call->device, n);
    if (!mock_chunk_holds(call->host, chunk, a->offset, a->size))
      return -EINVAL;
    if ((engine || !mock_chunk_is_host(chunk)) &&
        !mock_reset_can_copy(call->host, call->device, chunk->nc_id))
      return -EPERM;
    if (a->to_device)
      mock_chunk_touch(call->device, chunk, a->offset, a->size);
    plan->place = place_at(call, chunk, a->offset);
    plan->host = mock_chunk_is_host(chunk);
  }
  plan->bytes = mock_memory_bytes(call->host, plan->place.memory);
  return plan->bytes == nullptr ? -ENOMEM : 0;
}

}  // namespace

long mock_req_mem_copy(const mock_call_t *call) {
  copy_args_t args;
  long missing;
  if (call->request == NEURON_IOCTL_MEM_COPY) {
    neuron_ioctl_mem_copy a = {};
    missing = mock_call_in(call, &a);
    args = copy_args_of(a);
  } else {
    neuron_ioctl_mem_copy64 a = {};
    missing = mock_call_in(call, &a);
    args = copy_args_of(a);
  }
  if (missing != 0)
    return missing;
  copy_plan_t plan;
  {
    mock_guard_t guard(&call->device->lock);
    int rc = copy_check(call, &args, false, &plan);
    if (rc != 0)
      return rc;
  }
  return copy_run(call, &plan, args.size);
}

namespace {

// Runs the copy before the call returns, which no caller can tell from a fast engine; the slots
// keep the driver's rules. *handle is the new wait handle.
int async_run(const mock_call_t *call, const copy_args_t *args, uint32_t *handle) {
  mock_device_t *device = call->device;
  copy_plan_t plan;
  {
    mock_guard_t guard(&device->lock);
    int rc = copy_check(call, args, true, &plan);
    if (rc != 0)
      return rc;
    if (args->pwait != WAIT_NONE && args->pwait >= MOCK_ASYNC_SLOTS)
      return -EINVAL;
    bool names_slot = args->pwait != WAIT_NONE && args->pwait != NEURON_DMA_WAIT_SYNC;
    if (names_slot && device->async_busy[plan.core][args->pwait] == 0)
      return -EINVAL;
  }
  switch (args->pwait) {
    case NEURON_DMA_WAIT_SYNC:
      *handle = NEURON_DMA_WAIT_SYNC;
      break;
    case NEURON_DMA_WAIT_ASYNC1:
      *handle = NEURON_DMA_WAIT_ASYNC2;
      break;
    default:
      *handle = NEURON_DMA_WAIT_ASYNC1;
      break;
  }
  int rc = copy_run(call, &plan, std::min(args->size, ASYNC_LIMIT));
  if (rc != 0)
    return rc;
  if (args->size > ASYNC_LIMIT)  // the ring is full; what went in has moved
    return -EINVAL;
  if (args->prefetch != 0)
    mock_user_pin(reinterpret_cast<const void *>(args->prefetch), args->size, false);
  if (*handle == NEURON_DMA_WAIT_SYNC)
    return 0;
  mock_guard_t guard(&device->lock);
  device->async_busy[plan.core][*handle] = 1;
  if (args->pwait != WAIT_NONE)
    device->async_busy[plan.core][args->pwait] = 0;
  return 0;
}

template <typename T>
long async_request(const mock_call_t *call) {
  T a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  copy_args_t args = copy_args_of(a);
  int rc = async_run(call, &args, &a.wait_handle);
  return rc != 0 ? rc : mock_call_out(call, &a);
}

}  // namespace

long mock_req_mem_copy_async(const mock_call_t *call) {
  return call->request == NEURON_IOCTL_MEM_COPY_ASYNC
             ? async_request<neuron_ioctl_mem_copy_async>(call)
             : async_request<neuron_ioctl_mem_copy_async64>(call);
}

long mock_req_mem_copy_async_wait(const mock_call_t *call) {
  neuron_ioctl_mem_copy_async_wait a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  mock_host *host = call->host;
  mock_device_t *device = call->device;
  mock_guard_t guard(&device->lock);
  uint32_t s = mock_chunk_by_handle(host, device, a.src_mem_handle);
  uint32_t d = mock_chunk_by_handle(host, device, a.dst_mem_handle);
  if (s == 0 || d == 0)
    return -EINVAL;
  if (a.pwait_handle != NEURON_DMA_WAIT_ASYNC1 && a.pwait_handle != NEURON_DMA_WAIT_ASYNC2)
    return -EINVAL;
  const mock_chunk_t *src = mock_chunk_at(host, device, s);
  const mock_chunk_t *dst = mock_chunk_at(host, device, d);
  uint32_t queue = queue_of_core(host->state, mock_chunk_is_host(src) ? dst->nc_id : src->nc_id);
  if (device->async_busy[queue][a.pwait_handle] == 0)
    return -EINVAL;
  device->async_busy[queue][a.pwait_handle] = 0;
  return 0;
}

long mock_req_mem_buf_copy(const mock_call_t *call) {
  buffer_args_t args = {};
  long missing = call->request == NEURON_IOCTL_MEM_BUF_COPY
                     ? buffer_args_in<neuron_ioctl_mem_buf_copy>(call, &args)
                     : buffer_args_in<neuron_ioctl_mem_buf_copy64>(call, &args);
  if (missing != 0)
    return missing;
  buffer_plan_t plan;
  int rc = buffer_check(call, &args, false, &plan);
  if (rc != 0)
    return rc;
  uint64_t size = args.size & UINT32_MAX;  // the driver's copy loop counts in 32 bits
  int fd = plan.place.memory->fd;
  uint64_t offset = plan.place.offset;
  size_t left;
  if (!args.to_device)
    left = mock_user_from_file(fd, plan.bytes, offset, args.buffer, size,
                               plan.host ? size : DMA_PIECE);
  else if (plan.host)
    left = mock_user_to_file(fd, plan.bytes, offset, args.buffer, size);
  else
    left = mock_user_to_memory(plan.bytes + offset, args.buffer, size);
  return static_cast<long>(left);
}

long mock_req_mem_buf_zerocopy(const mock_call_t *call) {
  buffer_args_t args = {};
  long missing = buffer_args_in<neuron_ioctl_mem_buf_copy64>(call, &args);
  if (missing != 0)
    return missing;
  buffer_plan_t plan;
  int rc = buffer_check(call, &args, true, &plan);
  if (rc != 0)
    return rc;
  if (args.size == 0)
    return -EINVAL;
  uint8_t *device = plan.bytes + plan.place.offset;
  for (uint64_t done = 0; done < args.size;) {
    uint8_t *user = args.buffer + done;
    // Groups end on page boundaries of the caller, so each page is pinned once.
    uint64_t head = reinterpret_cast<uintptr_t>(user) % MOCK_PAGE;
    uint64_t step = std::min(PIN_GROUP - head, args.size - done);
    if (!mock_user_pin(user, step, !args.to_device))
      return -ENOMEM;
    if (args.to_device)
      memcpy(device + done, user, step);
    else
      memcpy(user, device + done, step);
    done += step;
  }
  return 0;
}

long mock_req_memset(const mock_call_t *call) {
  neuron_ioctl_memset64 a = {};
  long missing;
  if (call->request == NEURON_IOCTL_MEMSET) {
    neuron_ioctl_memset old = {};
    missing = mock_call_in(call, &old);
    a.mem_handle = old.mem_handle;
    a.offset = old.offset;
    a.value = old.value;
    a.size = old.size;
  } else {
    missing = mock_call_in(call, &a);
  }
  if (missing != 0)
    return missing;
  buffer_args_t args = {a.mem_handle, nullptr, a.size, a.offset, true};
  buffer_plan_t plan;
  int rc = buffer_check(call, &args, true, &plan);
  if (rc != 0)
    return rc;
  if (a.size == 0)
    return -EINVAL;
  memset(plan.bytes + plan.place.offset, static_cast<uint8_t>(a.value), a.size);
  return 0;
}

namespace {

struct program_args_t {
  uint32_t nc_id;
  uint64_t dst, size, offset;
  const uint8_t *buffer;
};

template <typename T>
long program_args_in(const mock_call_t *call, program_args_t *out) {
  T a;
  long missing = mock_call_in(call, &a);
  if (missing != 0)
    return missing;
  *out = {};
  out->dst = a.dst;
  out->size = a.size;
  out->offset = a.offset;
  out->buffer = static_cast<const uint8_t *>(a.buffer);
  if constexpr (requires { a.nc_id; })
    out->nc_id = a.nc_id;
  return 0;
}

bool in_window(uint64_t pa, uint64_t size, uint64_t base, uint64_t length) {
  return range_within(pa - base, size, length);
}

// Ranges the driver lets PROGRAM_ENGINE* write to.
bool engine_window(const mock_state_t *state, uint64_t pa, uint64_t size) {
  uint32_t arch = state->arch;
  for (uint32_t core = 0; core < state->cores; ++core)
    if (in_window(pa, size, neuron_tpb_base(arch, core), neuron_tpb_size(arch)))
      return true;
  if (arch == NEURON_ARCH_V2) {
    uint64_t all = neuron_arch_counts_get(arch).top_sps * NEURON_TOP_SP_SIZE;
    return in_window(pa, size, NEURON_V2_TOP_SP_BASE, all);
  }
  for (uint64_t die = 0; die < 2; ++die)
    for (uint64_t t = 0; t < NEURON_V3_TOP_SP_WINDOWS_PER_DIE; ++t)
      if (in_window(pa, size,
                    NEURON_V3_TOP_SP_BASE + die * NEURON_V3_DIE_BIT + t * NEURON_V3_TOP_SP_STRIDE,
                    NEURON_TOP_SP_SIZE))
        return true;
  for (uint32_t h = 0; h < state->hbms; ++h)
    if (in_window(pa, size, neuron_hbm_base(arch, h), state->hbm_size))
      return true;
  for (uint32_t i = 0; i < 4; ++i)
    if (in_window(pa, size, neuron_preproc_base(arch, i), NEURON_V3_PREPROC_SIZE))
      return true;
  return false;
}

// The caller's address may be anything, NULL too: a number until it is copied from.
const void *program_source(const program_args_t *args) {
  return reinterpret_cast<const void *>(reinterpret_cast<uintptr_t>(args->buffer) + args->offset);
}

// Whether a byte of a place belongs to events, semaphores or sequencers.
bool registers_at(const mock_call_t *call, const mock_place_t &place, uint64_t offset,
                  mock_target_t *target) {
  *target = {};
  offset += place.offset;
  return place.memory != &call->host->host_memory &&
         offset >= mock_memory_core_offset(call->host->state, 0) &&
         mock_decode_window(call->host, call->device->index, offset, 1, target) &&
         (target->kind == MOCK_TARGET_CORE_EVENTS || target->kind == MOCK_TARGET_TOP_SP_EVENTS ||
          target->kind == MOCK_TARGET_ENGINE);
}

// Writes to events, semaphores and sequencers, word by word.
long program_registers(mock_host *host, mock_target_t target, const program_args_t *args) {
  uint32_t words[NEURON_EVENT_BLOCK_SIZE / sizeof(uint32_t)];
  size_t missing = mock_user_read(words, program_source(args), args->size);
  for (uint64_t i = 0; missing == 0 && i < args->size / sizeof(words[0]); ++i) {
    if (!mock_register_write(host, &target, words[i]))
      return -ENOMEM;
    target.offset += sizeof(words[0]);
    target.place.offset += sizeof(words[0]);
  }
  return static_cast<long>(missing);
}

}  // namespace

long mock_req_program_engine(const mock_call_t *call) {
  program_args_t args{};
  long missing;
  if (call->request == NEURON_IOCTL_PROGRAM_ENGINE)
    missing = program_args_in<neuron_ioctl_program_engine>(call, &args);
  else if (call->request == NEURON_IOCTL_PROGRAM_ENGINE_NC)
    missing = program_args_in<neuron_ioctl_program_engine_nc>(call, &args);
  else
    missing = program_args_in<neuron_ioctl_program_engine_nc64>(call, &args);
  if (missing != 0)
    return missing;
  const mock_state_t *state = call->host->state;
  uint64_t pa;
  if (!checked_add(args.dst, args.offset, &pa) || !engine_window(state, pa, args.size))
    return -ENOMEM;
  // Staging memory: the driver cannot have none, nor more than host memory, nor for another core.
  if (args.size == 0 || args.size >= MOCK_HOST_SIZE || args.nc_id >= NEURON_MAX_CORES)
    return -ENOMEM;
  mock_place_t place;
  if (!mock_host_resolve(call->host, call->device->index, pa, args.size, &place))
    return -ENOSYS;  // registers without a model
  mock_target_t target;
  bool registers = registers_at(call, place, 0, &target);
  mock_target_t last;
  if (registers != registers_at(call, place, args.size - 1, &last) ||
      (registers && (target.kind != last.kind || target.offset % 4 != 0 || args.size % 4 != 0)))
    return -EPERM;  // registers take whole words: the engine would stop
  uint8_t *bytes = mock_memory_bytes(call->host, place.memory);
  if (bytes == nullptr)
    return -ENOMEM;
  {
    mock_guard_t guard(&call->device->lock);
    if (!mock_reset_can_copy(call->host, call->device, args.nc_id))
      return -EPERM;
    call->device->exposed = 1;
  }
  if (registers)
    return program_registers(call->host, target, &args);
  return static_cast<long>(
      mock_user_to_memory_whole(bytes + place.offset, program_source(&args), args.size));
}
