// SPDX-License-Identifier: Apache-2.0
#include "dmem/oom_report.h"

#include <algorithm>

#include "base/nlog.h"
#include "dmem/dmem_impl.h"
#include "dmem/neffs.h"
#include "dmem/oom_dump.h"
#include "dmem/room.h"

namespace {

std::string pool_text(const char *name, const dmem_pool_room_t &pool) {
  return fmt::format("{} pool {} (largest block {})", name, dmem_size_text(pool.free_bytes),
                     dmem_size_text(pool.largest_block));
}

// False when the figures are not there, or are not those of this request.
bool measure(const dmem_shortage_t &s, dmem_room_t *room) {
  if (!dmem_room_measure(s.pcore, s.channel, room))
    return false;
  // A block that would have taken the request means that the channel is not what it seems (a
  // smaller one, on a chip whose driver does not tell): then no figure is better than a wrong one.
  uint64_t largest = std::max(room->main.largest_block, room->small.largest_block);
  uint64_t slack = std::max<uint64_t>(s.alignment, DMEM_PAGE_SIZE);
  return s.one_place || largest < slack || largest - slack < s.size;
}

std::string first_line(const dmem_shortage_t &s, const dmem_room_t *room) {
  dmem_usage_table_t table;
  dmem_device_snapshot(s.pcore->stats, &table);
  std::string free_text = "an unknown amount";
  std::string hole = "unknown";
  if (room != nullptr) {
    free_text = dmem_size_text(room->main.free_bytes + room->small.free_bytes);
    hole = dmem_size_text(std::max(room->main.largest_block, room->small.largest_block));
  }
  return fmt::format(
      "nd{} nc{} hbm {}: out of device memory: {} bytes ({}), alignment {}, for {}{}{}; free: {}, "
      "largest hole: {}; held by this process: {}",
      s.pcore->device_id, s.pcore->nc_id, s.channel, s.size, dmem_size_text(s.size),
      s.alignment == 0 ? "none" : fmt::to_string(s.alignment), dmem_purpose(s.usage, s.hint),
      s.remark == nullptr ? "" : "; ", s.remark == nullptr ? "" : s.remark, free_text, hole,
      dmem_size_text(table.hbm_total[s.channel]));
}

// Which cores share this memory: what one holds the other cannot have.
std::string sharing_line(const dmem_shortage_t &s) {
  const hal_arch_t *arch = s.pcore->arch;
  if (arch->cores_per_hbm < 2)
    return {};
  std::string cores;
  for (uint32_t core = 0; core < arch->cores_per_device; ++core) {
    if (hal_default_hbm(arch, core) == s.channel)
      cores += fmt::format("{}NC {}", cores.empty() ? "" : ", ", core);
  }
  uint32_t lnc = s.pcore->stats->lnc;
  return fmt::format("\nlogical core size {}: ND {} HBM {} is shared by {}",
                     lnc == 0 ? "unknown" : fmt::to_string(lnc), s.pcore->device_id, s.channel,
                     cores);
}

// The body below the first line, table and names included.
std::string holdings_text(const dmem_shortage_t &s) {
  dmem_device_t *device = s.pcore->stats;
  dmem_holdings_t holdings;
  dmem_device_holdings(device, s.pcore->arch, s.channel, &holdings);
  std::string text = dmem_report_table(holdings.rows, device->report.per_usage);
  for (const dmem_neff_name_t &neff : holdings.names)
    text += fmt::format("NEFF {}: {}\n", neff.neff_id, nlog_one_line(neff.name));
  return text;
}

std::string report(const dmem_shortage_t &s) {
  dmem_room_t room;
  bool measured = measure(s, &room);
  std::string text = first_line(s, measured ? &room : nullptr);
  if (!s.pcore->stats->report.enabled)
    return text;
  text += sharing_line(s);
  if (s.alignment != 0)
    text +=
        "\nan aligned request can fail although enough bytes are free: gaps before aligned "
        "addresses stay unused";
  if (measured)
    text += fmt::format("\nfree: {}, {}; a chunk lies in one pool, in one piece",
                        pool_text("main", room.main), pool_text("small", room.small));
  std::string holdings = holdings_text(s);
  text += "\n" + holdings;
  return text + dmem_dump_write(s.pcore, s.channel, holdings);
}

void remember(const dmem_shortage_t &s) {
  dmem_last_shortage_t last = {s.size, s.alignment, s.usage, s.pcore->nc_id, s.channel, 0};
  if (!dmem_room_available(s.pcore, s.channel, s.alignment, s.one_place, &last.available))
    last.available = 0;
  std::lock_guard<std::mutex> lock(s.pcore->stats->mutex);
  s.pcore->stats->last_shortage = last;
  s.pcore->stats->had_shortage = true;
}

}  // namespace

bool dmem_device_last_shortage(dmem_device_t *device, dmem_last_shortage_t *out) {
  std::lock_guard<std::mutex> lock(device->mutex);
  *out = device->last_shortage;
  return device->had_shortage;
}

void dmem_report_shortage(const dmem_shortage_t *shortage) noexcept {
  remember(*shortage);
  try {
    nlog_write_block(NLOG_TDRV, NLOG_LEVEL_ERROR, __func__, report(*shortage));
  } catch (...) {
    // Host memory ran out as well; the call still has its line.
    nlog_write(NLOG_TDRV, NLOG_LEVEL_ERROR, __func__, "out of device memory");
  }
}
