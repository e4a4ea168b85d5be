// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/watch_check.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "mock_dev/check.h"
#include "mock_dev/core.h"
#include "mock_dev/core_pool.h"
#include "mock_dev/core_text.h"
#include "mock_dev/exec_state.h"
#include "mock_dev/semaphore.h"
#include "mock_dev/udma.h"

namespace {

constexpr uint32_t HOST_MEMORY = NEURON_MAX_DEVICES;  // memories are numbered as devices are
constexpr size_t MAX_OUTSIDE = 1000;                  // findings of accesses outside variables

struct core_watch_t {
  mock_watch_t base;  // first: callbacks get its address
  mock_watcher_t *watcher;
  mock_core_t *core;
  mock_check_actor_t engines[ISA_ENGINE_COUNT];
  mock_check_actor_t transfers[MOCK_CORE_TRANSFERS];
  uint64_t pc[ISA_ENGINE_COUNT];
  uint8_t opcode[ISA_ENGINE_COUNT];
  uint32_t in_run;  // engines between START and END, as bits
};

core_watch_t *of(mock_watch_t *watch) {
  return reinterpret_cast<core_watch_t *>(watch);
}

}  // namespace

struct mock_watcher_t {
  mock_host *host;
  bool strict;
  mock_check_t *check;
  std::mutex reading;  // one thread at a time turns findings into words; taken before `mutex`
  std::mutex mutex;    // what follows
  std::vector<std::unique_ptr<core_watch_t>> cores;
  std::vector<std::string> lines;                           // findings in words
  uint64_t taken = 0;                                       // of them, by mock_watcher_finding
  std::vector<std::pair<uint64_t, uint64_t>> outside_seen;  // (pc, address)
  uint64_t dropped = 0;
};

namespace {

// --- words --------------------------------------------------------------------------------------

constexpr size_t LINE_BYTES = 2048;

// A finding in the making.
struct line_t : mock_text_t {
  line_t() : mock_text_t{buffer, sizeof(buffer), 0} { buffer[0] = '\0'; }
  line_t(const line_t &) = delete;
  line_t &operator=(const line_t &) = delete;
  char buffer[LINE_BYTES];
};

using ull = unsigned long long;

void add_place(mock_text_t *text, const mock_core_t *core, uint64_t pc, uint8_t opcode) {
  mock_text_place(text, core, pc);
  const char *op = isa_opcode_name(opcode);
  if (op != nullptr)
    mock_text_add(text, " %s", op);
}

void add_site(mock_text_t *text, mock_host *host, const mock_check_site_t &site, bool writes) {
  const char *verb = writes ? "write" : "read";
  if (strcmp(site.kind, "ring") == 0) {
    mock_text_add(text, "%s by DMA engine %u queue %u of device %u", verb, site.core, site.engine,
                  site.device);
    return;
  }
  mock_text_add(text, "%s by ", verb);
  const mock_core_t *core = mock_core_at(host, site.device, site.core);
  if (core == nullptr)
    return;
  add_place(text, core, site.pc, site.opcode);
  mock_text_add(text, " (core %u, %s)", site.core, isa_engine_name(site.engine));
}

void add_range(mock_text_t *text, mock_host *host, const mock_check_range_t &range,
               const mock_core_t *core) {
  if (range.memory == HOST_MEMORY)
    return mock_text_add(text, "host memory 0x%llx, %llu bytes", ull{range.offset},
                         ull{range.length});
  const mock_state_t *state = host->state;
  for (uint32_t c = 0; c < state->cores; ++c) {
    uint64_t window = mock_memory_core_offset(state, c);
    if (range.offset < window || range.offset >= window + NEURON_BAR0_TPB_STRIDE)
      continue;
    uint64_t at = range.offset - window;
    bool psum = at >= ISA_PSUM_BASE;
    uint64_t pitch = psum ? ISA_PSUM_PITCH : ISA_SBUF_PITCH;
    at -= psum ? ISA_PSUM_BASE : 0;
    return mock_text_add(text, "%s of core %u, partition %llu, byte 0x%llx, %llu bytes",
                         psum ? "PSUM" : "SBUF", c, ull{at / pitch}, ull{at % pitch},
                         ull{range.length});
  }
  mock_text_range(text, core, mock_memory_address(state, range.offset), range.length);
}

std::string words(mock_host *host, const mock_check_finding_t &finding) {
  mock_exec_hold_t hold(host->exec);  // for the names
  line_t text;
  bool ring = strcmp(finding.second.kind, "ring") == 0;
  const mock_core_t *core =
      ring ? nullptr : mock_core_at(host, finding.second.device, finding.second.core);
  mock_text_add(&text, "device %u: ", finding.second.device);
  mock_text_add(&text, "%s", finding.race ? "race on " : "memory nobody wrote in this run, ");
  add_range(&text, host, finding.range, core);
  mock_text_add(&text, ": ");
  if (finding.race) {
    add_site(&text, host, finding.first, finding.first_writes);
    mock_text_add(&text, " and ");
  }
  add_site(&text, host, finding.second, finding.second_writes);
  if (finding.race)
    mock_text_add(&text, " are not ordered");
  return text.buffer;
}

// --- places -------------------------------------------------------------------------------------

// False: registers, which are no memory.
bool range_of(const mock_target_t &target, uint64_t length, mock_check_range_t *out) {
  if (!mock_target_is_memory(target.kind))
    return false;
  *out = {target.kind == MOCK_TARGET_HOST ? HOST_MEMORY : target.device, target.place.offset,
          length};
  return true;
}

mock_check_range_t window_of(const mock_core_t *core) {
  return {core->device->index, mock_memory_core_offset(core->host->state, core->index),
          NEURON_BAR0_TPB_STRIDE};
}

// --- strict: accesses outside variables ---------------------------------------------------------

// The range [address, address + length) of HBM belongs to one named range, if anything is named.
void inside_variable(core_watch_t *w, uint32_t engine, uint64_t address, uint64_t length,
                     bool write) {
  mock_watcher_t *watcher = w->watcher;
  if (!watcher->strict)
    return;
  line_t text;
  {
    mock_exec_hold_t hold(watcher->host->exec);
    const mock_core_names_t *names = &w->core->names;
    if (names->count == 0)
      return;
    // Several ranges may begin before the address; one that holds all of it is enough.
    bool known = false;
    for (size_t i = 0; i < names->count && names->list[i].address <= address; ++i) {
      const mock_name_t &n = names->list[i];
      if (address - n.address < n.size && length <= n.size - (address - n.address))
        return;
      known = known || address - n.address < n.size;
    }
    mock_text_add(&text, "device %u: ", w->core->device->index);
    add_place(&text, w->core, w->pc[engine], w->opcode[engine]);
    mock_text_add(&text, " (core %u, %s) %s 0x%llx, %llu bytes, ", w->core->index,
                  isa_engine_name(engine), write ? "writes" : "reads", ull{address}, ull{length});
    if (known) {
      const mock_name_t *name = mock_names_find(names, address);
      mock_text_add(&text, "beyond the end of %s (0x%llx, %llu bytes)",
                    name != nullptr ? name->name : "?", ull{name != nullptr ? name->address : 0},
                    ull{name != nullptr ? name->size : 0});
    } else {
      mock_text_add(&text, "outside every variable");
    }
  }
  std::lock_guard guard(watcher->mutex);
  std::pair<uint64_t, uint64_t> key = {w->pc[engine], address};
  if (std::find(watcher->outside_seen.begin(), watcher->outside_seen.end(), key) !=
      watcher->outside_seen.end())
    return;
  if (watcher->outside_seen.size() == MAX_OUTSIDE) {
    watcher->dropped++;
    return;
  }
  watcher->outside_seen.push_back(key);
  watcher->lines.emplace_back(text.buffer);
}

// --- what the cores say -------------------------------------------------------------------------

// The first engine that begins makes what the core holds undefined, and what is named so.
void run_start(core_watch_t *w, uint32_t engine) {
  std::vector<mock_check_range_t> undefined;
  if (w->in_run == 0) {
    mock_check_range_t window = window_of(w->core);
    undefined.push_back({window.memory, window.offset, NEURON_BAR0_EVENT_OFFSET});
    mock_exec_hold_t hold(w->watcher->host->exec);
    for (size_t i = 0; i < w->core->names.count; ++i) {
      const mock_name_t &name = w->core->names.list[i];
      mock_target_t target;
      mock_check_range_t range;
      if ((name.flags & MOCK_NAME_UNDEFINED) != 0 && name.size != 0 &&
          mock_decode(w->core->host, w->core->device->index, name.address, name.size, &target) &&
          range_of(target, name.size, &range))
        undefined.push_back(range);
    }
  }
  w->in_run |= 1u << engine;
  mock_check_start(w->watcher->check, w->engines[engine], undefined.data(), undefined.size());
}

void on_issue(mock_watch_t *watch, uint32_t engine, uint64_t pc, const isa_record *record) {
  core_watch_t *w = of(watch);
  mock_check_t *check = w->watcher->check;
  w->pc[engine] = pc;
  w->opcode[engine] = record->h.opcode;
  mock_check_record(check, w->engines[engine], pc, record->h.opcode);
  if (record->h.opcode == ISA_DRAIN)
    mock_check_drain(check, w->engines[engine]);
  if (record->h.opcode != ISA_NOTIFY)
    return;
  uint16_t hint = reinterpret_cast<const isa_notify *>(record)->extended_hint;
  if (hint == PROJECT_HINT_START)
    run_start(w, engine);
  if (hint == PROJECT_HINT_END) {
    mock_check_end(check, w->engines[engine]);
    w->in_run &= ~(1u << engine);
  }
}

mock_check_sync_t sync_of(const core_watch_t *w, bool event, uint32_t index) {
  return {w->core->device->index, w->core->index, event ? MOCK_CHECK_EVENT + index : index};
}

void on_acquire(mock_watch_t *watch, uint32_t engine, uint8_t mode, uint32_t index, int32_t value) {
  core_watch_t *w = of(watch);
  // `> n` is `>= n + 1`.
  bool at_least = mode == ISA_WAIT_SEM_GE || mode == ISA_WAIT_SEM_GT;
  mock_check_acquire(w->watcher->check, w->engines[engine],
                     sync_of(w, mode >= ISA_WAIT_EVENT_SET, index), at_least,
                     int64_t{value} + (mode == ISA_WAIT_SEM_GT ? 1 : 0));
}

void on_operand(mock_watch_t *watch, uint32_t engine, const isa_operand_t *operand) {
  core_watch_t *w = of(watch);
  mock_check_range_t window = window_of(w->core);
  mock_check_operand(w->watcher->check, w->engines[engine], &window, operand);
}

void ring_doorbell(core_watch_t *w, uint32_t engine, const mock_target_t &target) {
  uint32_t queue;
  if (!mock_udma_queue_register(target.offset, &queue, nullptr))
    return;
  bool all = target.kind == MOCK_TARGET_UDMA_BROADCAST;
  uint32_t first = all ? target.index * NEURON_DMA_ENGINES_PER_CORE : target.index;
  for (uint32_t i = 0; i < (all ? NEURON_DMA_ENGINES_PER_CORE : 1u); ++i)
    mock_check_doorbell(w->watcher->check,
                        mock_check_ring(w->watcher->check, target.device, first + i, queue),
                        w->engines[engine]);
}

void on_scalar(mock_watch_t *watch, uint32_t engine, uint64_t address, uint64_t bytes, bool write) {
  core_watch_t *w = of(watch);
  mock_target_t target;
  mock_check_range_t range;
  if (!mock_decode(w->core->host, w->core->device->index, address, bytes, &target))
    return;
  if (write && (target.kind == MOCK_TARGET_UDMA || target.kind == MOCK_TARGET_UDMA_BROADCAST))
    return ring_doorbell(w, engine, target);
  if ((w->in_run & 1u << engine) == 0 || !range_of(target, bytes, &range))
    return;
  if (target.kind == MOCK_TARGET_HBM)
    inside_variable(w, engine, address, bytes, write);
  mock_check_access(w->watcher->check, w->engines[engine], &range, write);
}

mock_check_actor_t actor_of(const core_watch_t *w, uint32_t actor) {
  return actor < MOCK_WATCH_TRANSFER ? w->engines[actor]
                                     : w->transfers[actor - MOCK_WATCH_TRANSFER];
}

void on_release(mock_watch_t *watch, uint32_t actor, bool event, uint32_t index, bool raised,
                int64_t value) {
  core_watch_t *w = of(watch);
  if (event && value == 0)
    return;  // clearing tells nobody anything
  mock_check_release(w->watcher->check, actor_of(w, actor), sync_of(w, event, index),
                     raised && !event, value);
}

void transfer_side(core_watch_t *w, uint32_t actor, const mock_transfer_t *transfer,
                   const mock_dge_side_t &side, bool write) {
  mock_host *host = w->core->host;
  const mock_rows_t &rows = side.rows;
  mock_span_t span;
  mock_check_range_t range;
  if (!mock_decode_rows(host, transfer->device, &rows, &span) ||
      !range_of(span.target, rows.bytes, &range))
    return;
  if (span.target.kind == MOCK_TARGET_HBM)
    inside_variable(w, transfer->engine, rows.address - span.first, span.length, write);
  uint64_t first = range.offset + span.first;
  for (uint32_t j = 0; j < rows.count[1]; ++j)
    for (uint32_t i = 0; i < rows.count[0]; ++i) {
      range.offset = first + static_cast<uint64_t>(i * rows.step[0] + j * rows.step[1]);
      mock_check_access(w->watcher->check, actor_of(w, actor), &range, write);
    }
}

void on_transfer_issue(mock_watch_t *watch, uint32_t actor, const mock_transfer_t *transfer) {
  core_watch_t *w = of(watch);
  mock_check_t *check = w->watcher->check;
  w->transfers[actor - MOCK_WATCH_TRANSFER] =
      mock_check_transfer_begin(check, w->engines[transfer->engine]);
  if (transfer->skip)
    return;
  // From now until its end it may read and write: what comes in between is a race with it.
  transfer_side(w, actor, transfer, transfer->src, false);
  transfer_side(w, actor, transfer, transfer->dst, true);
}

void on_transfer_end(mock_watch_t *watch, uint32_t actor) {
  core_watch_t *w = of(watch);
  mock_check_transfer_end(w->watcher->check, actor_of(w, actor));
}

// Rings have no records: whoever writes their doorbell stands for what they know.
mock_check_actor_t ring_of(const core_watch_t *w, uint32_t actor) {
  uint32_t ring = actor - MOCK_WATCH_RING;
  uint32_t engine =
      w->core->index * NEURON_DMA_ENGINES_PER_CORE + ring / NEURON_DMA_QUEUES_PER_ENGINE;
  return mock_check_ring(w->watcher->check, w->core->device->index, engine,
                         ring % NEURON_DMA_QUEUES_PER_ENGINE);
}

void on_packet_begin(mock_watch_t *watch, uint32_t actor) {
  core_watch_t *w = of(watch);
  mock_check_record(w->watcher->check, ring_of(w, actor), 0, 0);
}

void on_packet_access(mock_watch_t *watch, uint32_t actor, const mock_target_t *target,
                      uint64_t length, bool write) {
  core_watch_t *w = of(watch);
  mock_check_range_t range;
  if (range_of(*target, length, &range))
    mock_check_access(w->watcher->check, ring_of(w, actor), &range, write);
}

// What waits for the semaphore or event knows what the writer has done.
void on_register_written(mock_watch_t *watch, uint32_t actor, uint32_t device, uint32_t core,
                         uint64_t offset) {
  core_watch_t *w = of(watch);
  bool event = offset < NEURON_SEMAPHORE_READ;
  uint64_t at =
      event ? offset
            : (offset - NEURON_SEMAPHORE_READ) % (NEURON_SEMAPHORE_SET - NEURON_SEMAPHORE_READ);
  auto index = static_cast<uint32_t>(at / sizeof(uint32_t));
  mock_host *host = w->core->host;
  const uint8_t *bytes = mock_memory_bytes(host, &host->device_memory[device]);
  bool raised = bytes != nullptr && offset >= NEURON_SEMAPHORE_INCREMENT &&
                offset < NEURON_SEMAPHORE_DECREMENT;
  int64_t value = 0;
  if (raised)
    value = static_cast<int32_t>(mock_semaphore_read(
        bytes + mock_memory_core_offset(host->state, core) + NEURON_BAR0_EVENT_OFFSET,
        NEURON_SEMAPHORE_READ + index * sizeof(uint32_t)));
  mock_check_actor_t self = actor >= MOCK_WATCH_RING ? ring_of(w, actor) : actor_of(w, actor);
  mock_check_release(w->watcher->check, self,
                     {device, core, event ? MOCK_CHECK_EVENT + index : index}, raised, value);
}

void core_watch_init(mock_watcher_t *watcher, mock_core_t *core, core_watch_t *w) {
  w->base = {nullptr,         on_issue,         on_acquire,         on_operand,
             on_scalar,       on_release,       on_transfer_issue,  on_transfer_end,
             on_packet_begin, on_packet_access, on_register_written};
  w->watcher = watcher;
  w->core = core;
  for (uint32_t e = 0; e < ISA_ENGINE_COUNT; ++e)
    w->engines[e] = mock_check_engine(watcher->check, core->device->index, core->index,
                                      static_cast<isa_engine_t>(e), e == ISA_ENGINE_PE);
}

}  // namespace

mock_watcher_t *mock_watcher_create(mock_host *host, const mock_exec_options_t *options) {
  auto watcher = std::unique_ptr<mock_watcher_t>(new (std::nothrow) mock_watcher_t{});
  if (watcher == nullptr)
    return nullptr;
  watcher->host = host;
  watcher->strict = options->strict != 0;
  watcher->check = mock_check_create(options->races != 0, options->strict != 0);
  return watcher->check != nullptr ? watcher.release() : nullptr;
}

void mock_watcher_destroy(mock_watcher_t *watcher) {
  if (watcher == nullptr)
    return;
  mock_check_destroy(watcher->check);
  delete watcher;
}

mock_watch_t *mock_watcher_core(mock_watcher_t *watcher, mock_core_t *core) {
  std::lock_guard guard(watcher->mutex);
  for (const auto &w : watcher->cores)
    if (w->core == core)
      return &w->base;
  auto w = std::unique_ptr<core_watch_t>(new (std::nothrow) core_watch_t{});
  if (w == nullptr)
    return nullptr;
  core_watch_init(watcher, core, w.get());
  watcher->cores.push_back(std::move(w));
  return &watcher->cores.back()->base;
}

int mock_watcher_finding_at(mock_watcher_t *watcher, uint64_t index, char *text, size_t size) {
  mock_check_finding_t finding;
  std::lock_guard reading(watcher->reading);
  while (mock_check_next(watcher->check, &finding)) {
    std::string line = words(watcher->host, finding);
    std::lock_guard guard(watcher->mutex);
    watcher->lines.push_back(std::move(line));
  }
  std::lock_guard guard(watcher->mutex);
  if (index >= watcher->lines.size())
    return -EAGAIN;
  const std::string &line = watcher->lines[index];
  snprintf(text, size, "%s", line.c_str());
  return static_cast<int>(line.size());
}

int mock_watcher_finding(mock_watcher_t *watcher, char *text, size_t size, uint64_t *dropped) {
  uint64_t next;
  {
    std::lock_guard guard(watcher->mutex);
    next = watcher->taken;
    if (dropped != nullptr)
      *dropped = watcher->dropped + mock_check_dropped(watcher->check);
  }
  int length = mock_watcher_finding_at(watcher, next, text, size);
  std::lock_guard guard(watcher->mutex);
  watcher->taken += length >= 0 ? 1 : 0;
  return length;
}
