// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/check.h"

#include <algorithm>
#include <mutex>
#include <new>
#include <set>
#include <tuple>

#include "mock_dev/check_clock.h"
#include "mock_dev/check_shadow.h"

namespace {

constexpr size_t MAX_FINDINGS = 1000;
enum actor_kind_t : uint8_t { ACTOR_ENGINE, ACTOR_TRANSFER, ACTOR_RING };
constexpr const char *KIND_NAMES[] = {"engine", "transfer", "ring"};

struct actor_t {
  actor_kind_t kind;
  bool in_order;  // an access knows of all earlier ones of the same actor
  bool live;      // transfers: under way
  uint32_t n;     // what it works on: the n-th record, transfer or packet
  uint32_t site;
  mock_clock_t clock;
};

using finding_key_t = std::tuple<bool, uint32_t, uint32_t>;

}  // namespace

struct mock_check_t {
  std::mutex mutex;
  bool races, uninitialised;
  std::vector<actor_t> actors;
  std::vector<mock_check_site_t> sites;
  std::map<std::tuple<uint8_t, uint64_t, uint64_t>, uint32_t> site_index;
  std::map<std::tuple<uint8_t, uint32_t, uint32_t, uint32_t>, uint32_t> actor_index;
  std::vector<uint32_t> idle_transfers;
  std::map<uint64_t, mock_sync_state_t> syncs;
  mock_clock_t ended;
  mock_shadow_t shadow;
  std::map<std::pair<uint32_t, uint64_t>, uint64_t> undefined;  // (memory, offset) to end
  std::vector<mock_check_finding_t> findings;
  std::set<finding_key_t> known_findings;
  size_t next_finding = 0;
  uint64_t dropped = 0;
};

namespace {

using guard_t = std::lock_guard<std::mutex>;

uint32_t actor_find(mock_check_t *check, actor_kind_t kind, uint32_t device, uint32_t core,
                    uint32_t engine, bool in_order) {
  auto [at, is_new] = check->actor_index.try_emplace({kind, device, core, engine},
                                                     static_cast<uint32_t>(check->actors.size()));
  if (is_new) {
    check->sites.push_back({KIND_NAMES[kind], device, core, engine, 0, 0});
    uint32_t site = static_cast<uint32_t>(check->sites.size() - 1);
    check->actors.push_back({kind, in_order, false, 0, site, {}});
  }
  return at->second;
}

// The actor's clock as its current work sees it when it is done.
mock_clock_t clock_done(const mock_check_t *check, uint32_t actor) {
  mock_clock_t clock = check->actors[actor].clock;
  mock_clock_raise(&clock, actor, check->actors[actor].n);
  return clock;
}

// A place for reports; the same record of the same actor is one place.
uint32_t site_find(mock_check_t *check, actor_kind_t kind, const mock_check_site_t &like,
                   uint64_t pc, uint8_t opcode) {
  uint64_t who = static_cast<uint64_t>(like.device) << 40 | static_cast<uint64_t>(like.core) << 16 |
                 like.engine;
  auto [at, is_new] =
      check->site_index.try_emplace({kind, who, pc}, static_cast<uint32_t>(check->sites.size()));
  if (is_new)
    check->sites.push_back({KIND_NAMES[kind], like.device, like.core, like.engine, pc, opcode});
  return at->second;
}

bool ordered(const mock_check_t *check, const mock_epoch_t &earlier, uint32_t actor) {
  const actor_t &now = check->actors[actor];
  if (earlier.actor == actor && (now.in_order || earlier.n == now.n))
    return true;
  return mock_clock_of(now.clock, earlier.actor) >= earlier.n;
}

void report(mock_check_t *check, bool race, const mock_check_range_t &range, uint32_t first,
            bool first_writes, uint32_t second, bool second_writes) {
  if (!check->known_findings.insert({race, first, second}).second)
    return;
  if (check->findings.size() == MAX_FINDINGS) {
    check->dropped++;
    return;
  }
  check->findings.push_back(
      {race, range, check->sites[first], check->sites[second], first_writes, second_writes});
}

// What an access finds of one segment.
struct access_t {
  mock_check_t *check;
  uint32_t actor;
  uint32_t memory;
  bool write;
};

bool is_undefined(const mock_check_t *check, uint32_t memory, uint64_t offset) {
  auto after = check->undefined.upper_bound({memory, offset});
  if (after == check->undefined.begin())
    return false;
  auto range = std::prev(after);
  return range->first.first == memory && offset < range->second;
}

void unwritten(const access_t &a, uint64_t offset, uint32_t length) {
  uint32_t site = a.check->actors[a.actor].site;
  if (a.check->uninitialised && !a.write && is_undefined(a.check, a.memory, offset))
    report(a.check, false, {a.memory, offset, length}, site, false, site, false);
}

void compare(const access_t &a, const mock_segment_t &segment, uint64_t offset, uint32_t length) {
  mock_check_t *check = a.check;
  uint32_t site = check->actors[a.actor].site;
  if (segment.write.actor == MOCK_EPOCH_NONE)
    unwritten(a, offset, length);
  else if (check->races && !ordered(check, segment.write, a.actor))
    report(check, true, {a.memory, offset, length}, segment.write.site, true, site, a.write);
  if (!a.write || !check->races)
    return;
  for (const mock_epoch_t &read : segment.reads)
    if (!ordered(check, read, a.actor))
      report(check, true, {a.memory, offset, length}, read.site, false, site, true);
}

mock_epoch_t epoch_now(const access_t &a) {
  const actor_t &actor = a.check->actors[a.actor];
  return {a.actor, actor.n, actor.site};
}

void add_read(const access_t &a, mock_segment_t *segment) {
  if (!a.check->races)
    return;
  std::erase_if(segment->reads,
                [&](const mock_epoch_t &read) { return ordered(a.check, read, a.actor); });
  segment->reads.push_back(epoch_now(a));
}

void read_row(const access_t &a, mock_shadow_row_t *row, uint32_t begin, uint32_t end,
              uint64_t offset) {
  auto at = mock_shadow_split(row, begin);
  mock_shadow_split(row, end);
  at = row->lower_bound(begin);
  const mock_epoch_t nobody = {MOCK_EPOCH_NONE, 0, 0};
  uint32_t done = begin;
  while (done < end) {
    if (at == row->end() || at->first > done) {  // nobody was here
      uint32_t stop = at == row->end() ? end : std::min(end, at->first);
      at = std::next(row->emplace_hint(at, done, mock_segment_t{stop, nobody, {}}));
      unwritten(a, offset + (done - begin), stop - done);
      add_read(a, &std::prev(at)->second);
      done = stop;
      continue;
    }
    compare(a, at->second, offset + (done - begin), at->second.end - done);
    add_read(a, &at->second);
    done = at->second.end;
    ++at;
  }
}

void write_row(const access_t &a, mock_shadow_row_t *row, uint32_t begin, uint32_t end,
               uint64_t offset) {
  mock_shadow_split(row, begin);
  auto stop = mock_shadow_split(row, end);
  auto at = row->lower_bound(begin);
  for (auto i = at; i != stop; ++i)
    compare(a, i->second, offset + (i->first - begin), i->second.end - i->first);
  at = row->erase(at, stop);
  row->emplace_hint(at, begin, mock_segment_t{end, epoch_now(a), {}});
}

void access_locked(mock_check_t *check, uint32_t actor, uint32_t memory, uint64_t offset,
                   uint64_t length, bool write) {
  access_t a = {check, actor, memory, write};
  mock_shadow_pieces(&check->shadow, memory, offset, length,
                     [&a](mock_shadow_row_t *row, uint32_t begin, uint32_t end, uint64_t from) {
                       (a.write ? write_row : read_row)(a, row, begin, end, from);
                     });
}

uint64_t sync_key(const mock_check_sync_t &sync) {
  return static_cast<uint64_t>(sync.device) << 32 | static_cast<uint64_t>(sync.core) << 16 |
         sync.index;
}

// An operand's bytes on its first lane as runs of equal length at `count` strides.
struct runs_t {
  uint64_t first;
  uint64_t bytes;  // of a run
  uint64_t step[4];
  uint32_t count[4];
};

// Steps turned positive, repeated elements dropped, neighbours joined: which bytes, not in which
// order.
runs_t runs_make(const isa_operand_t *operand) {
  runs_t runs = {operand->addr4 & ISA_ADDR4_ADDRESS, operand->element_bytes, {}, {1, 1, 1, 1}};
  struct {
    uint64_t step;
    uint32_t count;
  } dims[4];
  size_t used = 0;
  for (int i = 0; i < 4; ++i) {
    int64_t step = static_cast<int64_t>(operand->step[i]) * operand->element_bytes;
    uint32_t count = operand->count[i];
    if (count <= 1 || step == 0)
      continue;
    if (step < 0)
      runs.first += static_cast<uint64_t>(step * (count - 1));
    uint64_t size = static_cast<uint64_t>(step < 0 ? -step : step);
    size_t at = used++;
    for (; at > 0 && dims[at - 1].step > size; --at)  // ascending
      dims[at] = dims[at - 1];
    dims[at] = {size, count};
  }
  size_t kept = 0;
  for (size_t i = 0; i < used; ++i) {
    if (kept == 0 && dims[i].step <= runs.bytes) {  // touching or overlapping
      runs.bytes += dims[i].step * (dims[i].count - 1);
    } else {
      runs.step[kept] = dims[i].step;
      runs.count[kept++] = dims[i].count;
    }
  }
  return runs;
}

}  // namespace

mock_check_t *mock_check_create(bool races, bool uninitialised) {
  mock_check_t *check = new (std::nothrow) mock_check_t;
  if (check != nullptr) {
    check->races = races;
    check->uninitialised = uninitialised;
  }
  return check;
}

void mock_check_destroy(mock_check_t *check) {
  delete check;
}

mock_check_actor_t mock_check_engine(mock_check_t *check, uint32_t device, uint32_t core,
                                     isa_engine_t engine, bool in_order) {
  guard_t guard(check->mutex);
  return actor_find(check, ACTOR_ENGINE, device, core, engine, in_order);
}

mock_check_actor_t mock_check_ring(mock_check_t *check, uint32_t device, uint32_t dma_engine,
                                   uint32_t queue) {
  guard_t guard(check->mutex);
  return actor_find(check, ACTOR_RING, device, dma_engine, queue, true);
}

void mock_check_start(mock_check_t *check, mock_check_actor_t actor,
                      const mock_check_range_t *undefined, size_t count) {
  guard_t guard(check->mutex);
  actor_t &self = check->actors[actor];
  mock_clock_join(&self.clock, check->ended);
  mock_clock_raise(&self.clock, actor, self.n);
  for (size_t i = 0; i < count; ++i) {
    const mock_check_range_t &range = undefined[i];
    check->undefined[{range.memory, range.offset}] = range.offset + range.length;
    mock_shadow_pieces(&check->shadow, range.memory, range.offset, range.length,
                       [](mock_shadow_row_t *row, uint32_t begin, uint32_t end, uint64_t) {
                         mock_shadow_forget(row, begin, end);
                       });
  }
}

void mock_check_end(mock_check_t *check, mock_check_actor_t actor) {
  guard_t guard(check->mutex);
  mock_clock_join(&check->ended, clock_done(check, actor));
}

void mock_check_record(mock_check_t *check, mock_check_actor_t actor, uint64_t pc, uint8_t opcode) {
  guard_t guard(check->mutex);
  actor_t &self = check->actors[actor];
  self.n++;
  mock_check_site_t like = check->sites[self.site];
  self.site = site_find(check, self.kind, like, pc, opcode);
}

void mock_check_drain(mock_check_t *check, mock_check_actor_t actor) {
  guard_t guard(check->mutex);
  actor_t &self = check->actors[actor];
  mock_clock_raise(&self.clock, actor, self.n);
}

void mock_check_acquire(mock_check_t *check, mock_check_actor_t actor, mock_check_sync_t sync,
                        bool at_least, int64_t value) {
  guard_t guard(check->mutex);
  const mock_sync_state_t &state = check->syncs[sync_key(sync)];
  mock_clock_join(&check->actors[actor].clock,
                  at_least ? mock_sync_at_least(state, value) : mock_sync_all(state));
}

void mock_check_release(mock_check_t *check, mock_check_actor_t actor, mock_check_sync_t sync,
                        bool raised, int64_t value) {
  guard_t guard(check->mutex);
  mock_sync_state_t *state = &check->syncs[sync_key(sync)];
  if (raised)
    mock_sync_raised(state, clock_done(check, actor), value);
  else
    mock_sync_changed(state, clock_done(check, actor));
}

mock_check_actor_t mock_check_transfer_begin(mock_check_t *check, mock_check_actor_t issuer) {
  guard_t guard(check->mutex);
  // A number whose last transfer the issuer knows to be over can be used again: what is ordered
  // after the new one is ordered after the old one.
  auto idle = std::find_if(check->idle_transfers.begin(), check->idle_transfers.end(),
                           [check, issuer](uint32_t transfer) {
                             return mock_clock_of(check->actors[issuer].clock, transfer) >=
                                    check->actors[transfer].n;
                           });
  uint32_t transfer = static_cast<uint32_t>(check->actors.size());
  if (idle != check->idle_transfers.end()) {
    transfer = *idle;
    *idle = check->idle_transfers.back();
    check->idle_transfers.pop_back();
  } else {
    check->actors.push_back({ACTOR_TRANSFER, true, false, 0, 0, {}});
  }
  const actor_t &by = check->actors[issuer];
  const mock_check_site_t like = check->sites[by.site];
  actor_t &self = check->actors[transfer];
  self.live = true;
  self.n++;
  self.site = site_find(check, ACTOR_TRANSFER, like, like.pc, like.opcode);
  self.clock = by.clock;
  return transfer;
}

void mock_check_transfer_end(mock_check_t *check, mock_check_actor_t transfer) {
  guard_t guard(check->mutex);
  actor_t &self = check->actors[transfer];
  if (!self.live)
    return;
  self.live = false;
  check->idle_transfers.push_back(transfer);
}

void mock_check_doorbell(mock_check_t *check, mock_check_actor_t ring, mock_check_actor_t ringer) {
  guard_t guard(check->mutex);
  mock_clock_join(&check->actors[ring].clock, check->actors[ringer].clock);
}

void mock_check_access(mock_check_t *check, mock_check_actor_t actor,
                       const mock_check_range_t *range, bool write) {
  guard_t guard(check->mutex);
  access_locked(check, actor, range->memory, range->offset, range->length, write);
}

void mock_check_operand(mock_check_t *check, mock_check_actor_t actor,
                        const mock_check_range_t *window, const isa_operand_t *operand) {
  guard_t guard(check->mutex);
  runs_t runs = runs_make(operand);
  uint64_t pitch = isa_addr4_is_psum(operand->addr4) ? ISA_PSUM_PITCH : ISA_SBUF_PITCH;
  for (uint32_t lane = 0; lane < operand->lanes; ++lane)
    for (uint32_t l = 0; l < runs.count[3]; ++l)
      for (uint32_t k = 0; k < runs.count[2]; ++k)
        for (uint32_t j = 0; j < runs.count[1]; ++j)
          for (uint32_t i = 0; i < runs.count[0]; ++i) {
            uint64_t at = window->offset + runs.first + lane * pitch + i * runs.step[0] +
                          j * runs.step[1] + k * runs.step[2] + l * runs.step[3];
            if (operand->also_read || !operand->write)
              access_locked(check, actor, window->memory, at, runs.bytes, false);
            if (operand->write)
              access_locked(check, actor, window->memory, at, runs.bytes, true);
          }
}

bool mock_check_next(mock_check_t *check, mock_check_finding_t *out) {
  guard_t guard(check->mutex);
  if (check->next_finding == check->findings.size())
    return false;
  *out = check->findings[check->next_finding++];
  return true;
}

uint64_t mock_check_dropped(mock_check_t *check) {
  guard_t guard(check->mutex);
  return check->dropped;
}
