// SPDX-License-Identifier: Apache-2.0
#include "tools/trace.h"

#include <fmt/format.h>

#include <cstring>
#include <set>

#include "isa/isa_table.h"
#include "neff/neff_file.h"
#include "tools/json_out.h"

namespace {

// Tracks of mock_exec_event: engines, DMA engines of rings, transfers of DMA records per engine.
constexpr uint32_t kDmaEngines = 16;

std::string track_name(uint32_t track) {
  if (track < ISA_ENGINE_COUNT)
    return isa_engine_name(track);
  if (track < kDmaEngines + 16)
    return fmt::format("dma engine {}", track - kDmaEngines);
  return fmt::format("dma of {}", isa_engine_name(track - kDmaEngines - 16));
}

std::string address_text(const isa_addr8 &address, const trace_names_t &names) {
  uint32_t index = isa_addr8_id(address);
  switch (address.mode) {
    case ISA_ADDR8_TABLE:
    case ISA_ADDR8_TABLE_REGISTER: {
      std::string name =
          index < names.table.size() ? names.table[index] : fmt::format("table[{}]", index);
      return address.mode == ISA_ADDR8_TABLE ? fmt::format("{}+0x{:x}", name, address.offset)
                                             : fmt::format("{}+r{}", name, address.offset & 0xFF);
    }
    default:
      return names.at(isa_addr8_device(address));
  }
}

std::string update_text(const isa_header &h) {
  uint32_t mode = h.update_mode & ~uint32_t{ISA_UPDATE_COMPLETE};
  if (mode == ISA_UPDATE_NONE)
    return "";
  bool event = mode == ISA_UPDATE_EVENT_SET || mode == ISA_UPDATE_EVENT_CLEAR;
  return fmt::format("{} {}", event ? "event" : "semaphore", h.update_index);
}

std::string wait_text(const isa_header &h) {
  if (h.wait_mode == ISA_WAIT_NONE)
    return "";
  if (h.wait_mode > ISA_WAIT_SEM_GE)
    return fmt::format("event {}", h.wait_index);
  constexpr const char *kSigns[] = {"", "==", "<", "<=", ">", ">="};
  return fmt::format("semaphore {} {} {}", h.wait_index, kSigns[h.wait_mode], h.value);
}

}  // namespace

std::string trace_names_t::at(uint64_t address) const {
  auto it = ranges.upper_bound(address);
  if (it != ranges.begin() && address - (--it)->first < it->second.size)
    return fmt::format("{}+0x{:x}", it->second.name, address - it->first);
  return fmt::format("0x{:x}", address);
}

void trace_recorder::record(void *user, const mock_exec_event_t *event) {
  auto *recorder = static_cast<trace_recorder *>(user);
  std::lock_guard lock(recorder->mutex_);
  if (recorder->events_.size() >= TRACE_MAX_EVENTS) {
    recorder->dropped_++;
    return;
  }
  event_t &e = recorder->events_.emplace_back();
  e = {event->device,
       event->core,
       event->engine,
       event->pc,
       event->start_ps,
       event->end_ps,
       event->bytes,
       event->record != nullptr,
       {}};
  if (e.has_record)
    memcpy(e.record, event->record, sizeof(e.record));
}

void trace_recorder::set_names(uint32_t device, uint32_t core, trace_names_t names) {
  names_[{device, core}] = std::move(names);
}

std::string trace_recorder::to_json() const {
  json_out json;
  auto process = [](const event_t &e) { return e.device * 256 + e.core; };
  json.begin_object().key("traceEvents").begin_array();
  std::set<std::pair<uint32_t, uint32_t>> tracks;
  auto put_name = [&](const char *what, const event_t &e, const std::string &name) {
    json.begin_object().field("name", what).field("ph", "M").field("pid", process(e));
    json.field("tid", e.track).key("args").begin_object().field("name", name).end_object();
    json.end_object();
  };
  static const trace_names_t kNone;
  for (const event_t &e : events_) {
    if (tracks.insert({process(e), UINT32_MAX}).second)
      put_name("process_name", e, fmt::format("device {}, core {}", e.device, e.core));
    if (tracks.insert({process(e), e.track}).second)
      put_name("thread_name", e, track_name(e.track));
    auto found = names_.find({e.device, e.core});
    const trace_names_t &names = found != names_.end() ? found->second : kNone;
    isa_record record{};
    if (e.has_record)
      memcpy(&record, e.record, sizeof(record));
    const char *opcode = e.has_record ? isa_opcode_name(record.h.opcode) : nullptr;
    std::string name = opcode != nullptr ? opcode : "transfer";
    if (e.has_record && record.h.opcode == ISA_DMAMEMCPY && e.track >= kDmaEngines) {
      isa_dma dma;
      memcpy(&dma, &record, sizeof(dma));
      name = address_text(dma.src, names) + " -> " + address_text(dma.dst, names);
    }
    // Microseconds; simulated time counts picoseconds.
    json.begin_object().field("name", name).field("ph", "X").field("pid", process(e));
    json.field("tid", e.track).field("ts", static_cast<double>(e.start_ps) * 1e-6);
    json.field("dur", static_cast<double>(e.end_ps - e.start_ps) * 1e-6);
    json.key("args").begin_object().key("pc").hex(e.pc);
    if (e.bytes != 0)
      json.field("bytes", e.bytes);
    if (e.has_record && e.track < kDmaEngines) {
      if (std::string text = wait_text(record.h); !text.empty())
        json.field("waits", text);
      if (std::string text = update_text(record.h); !text.empty())
        json.field("updates", text);
    }
    json.end_object().end_object();
  }
  json.end_array().field("displayTimeUnit", "ns").end_object();
  return json.text();
}

NRT_STATUS trace_recorder::write(const std::string &path, finding_sink &findings) const {
  std::string text = to_json();
  return neff_file_write(path, {reinterpret_cast<const uint8_t *>(text.data()), text.size()},
                         findings);
}
