// SPDX-License-Identifier: Apache-2.0
#include "dmem/oom_dump.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include "base/nlog.h"
#include "dmem/dmem_impl.h"
#include "dmem/report_table.h"
#include "dmem/room.h"

namespace {

// The directory is shared by default: a file or link that somebody put there is never written
// through. -EEXIST: the file is there.
template <typename Body>
int write_new(const std::string &path, Body body) {
  int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (fd < 0)
    return -errno;
  FILE *file = fdopen(fd, "w");
  if (file == nullptr) {
    close(fd);
    unlink(path.c_str());
    return -ENOMEM;
  }
  errno = 0;
  body(file);
  bool failed = ferror(file) != 0;
  int error = errno;
  if (fclose(file) != 0) {
    failed = true;
    error = errno;
  }
  if (!failed)
    return 0;
  unlink(path.c_str());
  return error != 0 ? -error : -EIO;
}

// Puts the file in the place of an older one, whole or not at all.
template <typename Body>
int write_over(const std::string &path, Body body) {
  std::string fresh = fmt::format("{}.{}.{}", path, getpid(), time(nullptr));
  int result = write_new(fresh, body);
  if (result == 0 && rename(fresh.c_str(), path.c_str()) != 0) {
    result = -errno;
    unlink(fresh.c_str());
  }
  return result;
}

// A field that holds commas, quotes or line breaks keeps its row together.
std::string csv_text(const char *text) {
  std::string out = "\"";
  for (char c : nlog_one_line(text)) {
    out += c;
    if (c == '"')
      out += c;
  }
  return out + "\"";
}

void write_events(FILE *file, const dmem_event_t *events, uint64_t count) {
  fputs("action,location,usage,hbm,hint,core,size,pa,align_offset,hbm_total\n", file);
  for (uint64_t i = 0; i < count; ++i) {
    const dmem_event_t &e = events[i];
    fmt::print(file, "{},{},{},{},{},{},{},{:#x},{},{}\n",
               e.action == dmem_event_action_t::ALLOC ? "alloc" : "free",
               dmem_location_name(e.location), dmem_usage_key(e.usage), e.hbm_index,
               csv_text(e.hint), e.nc_id, e.size, e.pa, e.align_offset, e.hbm_total);
  }
}

void write_chunks(FILE *file, const hal_chunk_t *chunks, uint32_t count) {
  fputs("pa,size,category\n", file);
  for (uint32_t i = 0; i < count; ++i)
    fmt::print(file, "{:#x},{},{}\n", chunks[i].pa, chunks[i].size, chunks[i].category);
}

struct dump_t {
  const physical_core_t *pcore;
  uint32_t channel;
  uint64_t second;
  std::vector<std::string> written;
  std::string failed;  // first file that could not be written
  int error;
};

void note(dump_t *dump, const std::string &path, int result) {
  if (result == 0) {
    dump->written.push_back(nlog_one_line(path));
  } else if (dump->error == 0) {
    dump->failed = nlog_one_line(path);
    dump->error = result;
  }
}

// `name` is the path without time and ending. Ranks that share a device run out of memory in the
// same second; whoever finds the name taken adds its process id.
template <typename Body>
void write_stamped(dump_t *dump, const std::string &name, Body body) {
  std::string stamped = fmt::format("{}_{:x}", name, dump->second);
  std::string path = stamped + ".csv";
  int result = write_new(path, body);
  if (result == -EEXIST) {
    path = fmt::format("{}_{}.csv", stamped, getpid());
    result = write_new(path, body);
  }
  note(dump, path, result);
}

void dump_events(dump_t *dump, const std::string &directory) {
  dmem_device_t *device = dump->pcore->stats;
  uint64_t count = dmem_memlog_copy(device, nullptr, 0);
  if (count == 0)
    return;
  auto *events = static_cast<dmem_event_t *>(calloc(count, sizeof(dmem_event_t)));
  std::string name = fmt::format("{}/nrt_mem_log_device_{}", directory, dump->pcore->device_id);
  if (events == nullptr) {
    note(dump, name, -ENOMEM);
    return;
  }
  // The ring may have lost some since, but never has fewer than its length.
  count = std::min(count, dmem_memlog_copy(device, events, count));
  write_stamped(dump, name, [&](FILE *file) { write_events(file, events, count); });
  free(events);
}

void dump_chunks(dump_t *dump, const std::string &directory) {
  uint32_t count = 0;
  hal_chunk_t *chunks = dmem_room_chunks(dump->pcore, dump->channel, &count);
  if (chunks == nullptr)
    return;
  std::string name = fmt::format("{}/neuron_mem_log_device_{}_hbm_{}", directory,
                                 dump->pcore->device_id, dump->channel);
  write_stamped(dump, name, [&](FILE *file) { write_chunks(file, chunks, count); });
  free(chunks);
}

}  // namespace

bool dmem_dump_due(dmem_dump_limit_t *limit, uint64_t second) {
  if (limit->sets >= DMEM_DUMP_MAX_SETS || (limit->sets > 0 && limit->last_second == second))
    return false;
  limit->last_second = second;
  ++limit->sets;
  return true;
}

std::string dmem_dump_write(const physical_core_t *pcore, uint32_t channel,
                            const std::string &table) {
  dmem_device_t *device = pcore->stats;
  dump_t dump = {};
  dump.pcore = pcore;
  dump.channel = channel;
  dump.second = static_cast<uint64_t>(time(nullptr));
  {
    std::lock_guard<std::mutex> lock(device->mutex);
    if (!dmem_dump_due(&device->dumps, dump.second))
      return fmt::format("dump files: none; per device one set a second, {} per process",
                         DMEM_DUMP_MAX_SETS);
  }
  const std::string &directory = device->report.directory;
  dump_events(&dump, directory);
  dump_chunks(&dump, directory);
  std::string path =
      fmt::format("{}/neuron_mem_table_device_{}_hbm_{}.log", directory, pcore->device_id, channel);
  note(&dump, path, write_over(path, [&](FILE *file) { fputs(table.c_str(), file); }));
  std::string text =
      fmt::format("dump files: {}",
                  dump.written.empty() ? "none" : fmt::format("{}", fmt::join(dump.written, ", ")));
  if (dump.error == 0)
    return text;
  NLOG_WARN(NLOG_TDRV, "nd{}: no memory dump at '{}' ({}); NEURON_RT_OOM_DUMP_DIRECTORY is '{}'",
            pcore->device_id, dump.failed, hal_error_name(dump.error), directory);
  // Warnings are off by default.
  return fmt::format("{}; '{}' cannot be written ({})", text, dump.failed,
                     hal_error_name(dump.error));
}
