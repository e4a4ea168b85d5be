// SPDX-License-Identifier: Apache-2.0
#include "neff/neff_archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/checked.h"
#include "base/pages.h"
#include "neff/neff_inflate.h"
#include "neff/neff_locale.h"

// Where libarchive finds no memory for a name it ends the process. libnrt.so.1, which has a copy of
// its own, links this in its place (meson.build), so that it becomes a load's failure.
extern "C" [[noreturn]] void __wrap___archive_errx(int status, const char *message);
void __wrap___archive_errx(int, const char *) {
  throw std::bad_alloc();
}

namespace {

constexpr uint64_t kTarBlock = 512;
// Below this a compression ratio says nothing: short archives of zeros are fine.
constexpr uint64_t kRatioFloor = 64ull << 20;
constexpr uint64_t kReadStep = 1 << 20;
constexpr std::string_view kIgnoredSuffix = "wavegraph-bin.json";

la_ssize_t read_source(struct archive *, void *user, const void **buffer) {
  auto *source = static_cast<neff_tar_source *>(user);
  auto piece = source->next();
  *buffer = piece.data();
  // A piece that ends at a defect is still read; the next call fails.
  if (piece.empty() && source->status != NRT_SUCCESS)
    return ARCHIVE_FATAL;
  return static_cast<la_ssize_t>(piece.size());
}

// Smallest of the limits that bound the whole archive, worked out before the first byte is
// inflated.
struct budget {
  uint64_t members;  // bytes of members
  std::string name;  // which limit that is
};

budget member_budget(const neff_limits &limits, uint64_t stored) {
  uint64_t by_ratio = UINT64_MAX;
  if (checked_mul(stored, limits.max_ratio, &by_ratio))
    by_ratio = std::max(by_ratio, kRatioFloor);
  if (by_ratio < limits.max_total_bytes)
    return {by_ratio, fmt::format("{}, {} times the {} bytes stored (OPENNRT_NEFF_MAX_RATIO)",
                                  by_ratio, limits.max_ratio, stored)};
  return {limits.max_total_bytes,
          fmt::format("{} (OPENNRT_NEFF_MAX_TOTAL_BYTES)", limits.max_total_bytes)};
}

struct archive_closer {
  void operator()(struct archive *a) const { archive_read_free(a); }
  void operator()(struct archive_entry *e) const { archive_entry_free(e); }
};

// State of one walk.
struct walk {
  const neff_limits &limits;
  finding_sink &findings;
  neff_tar_source source;
  budget room;
  std::unique_ptr<struct archive, archive_closer> archive;
  // Ours: libarchive 3.6 makes its own without looking whether there was memory for it.
  std::unique_ptr<struct archive_entry, archive_closer> entry;
  uint64_t entries = 0;
  uint64_t bytes = 0;  // of members read, overwritten ones included
  uint64_t data_end = 0;
  bool sparse = false;  // the latest entry's data does not end at data_end
  std::string last;     // name of the latest entry

  walk(std::span<const uint8_t> payload, const neff_limits &l, finding_sink &f)
      : limits(l), findings(f), source(payload) {
    room = member_budget(limits, payload.size());
    // Headers and padding come on top of the members.
    uint64_t overhead = 0;
    if (!checked_mul(limits.max_members, 4 * kTarBlock, &overhead) ||
        !checked_add(overhead, room.members, &source.max_bytes) ||
        !checked_add(source.max_bytes, uint64_t{1} << 20, &source.max_bytes))
      source.max_bytes = UINT64_MAX;
  }

  uint64_t position() const {
    return static_cast<uint64_t>(std::max<la_int64_t>(archive_filter_bytes(archive.get(), 0), 0));
  }

  // The source knows better than libarchive why it ran dry.
  NRT_STATUS fail(const std::string &where, const std::string &context) {
    if (source.status != NRT_SUCCESS)
      return findings.add(source.status, where, "{}: {}", context, source.error);
    if (archive_errno(archive.get()) == ENOMEM)
      return findings.add(NRT_RESOURCE, where, "{}: no host memory", context);
    const char *reason = archive_error_string(archive.get());
    return findings.add(NRT_INVALID, where, "{}: {}", context,
                        reason != nullptr ? reason : "damaged archive");
  }

  NRT_STATUS open();
  NRT_STATUS check_entry(const std::string &where, uint64_t size);
  NRT_STATUS read_data(const std::string &where, uint64_t size, std::unique_ptr<uint8_t[]> *out);
  NRT_STATUS finish();
};

NRT_STATUS walk::open() {
  if (source.payload.empty())
    return findings.add(NRT_INVALID, "archive", "the payload is empty");
  archive.reset(archive_read_new());
  if (archive != nullptr)
    entry.reset(archive_entry_new2(archive.get()));
  if (entry == nullptr)
    return findings.add(NRT_RESOURCE, "archive", "no host memory");
  if (archive_read_support_format_tar(archive.get()) != ARCHIVE_OK ||
      archive_read_open(archive.get(), &source, nullptr, read_source, nullptr) != ARCHIVE_OK)
    return fail("archive: tar+0x0", "cannot open");
  return NRT_SUCCESS;
}

// Every limit is checked against what the entry claims, before anything is allocated for it.
NRT_STATUS walk::check_entry(const std::string &where, uint64_t size) {
  if (!archive_entry_size_is_set(entry.get()) || archive_entry_size(entry.get()) < 0)
    return findings.add(NRT_INVALID, where, "the entry has no valid size");
  if (size > limits.max_member_bytes)
    return findings.add(NRT_INVALID, where,
                        "the member claims {} bytes, the limit is {} "
                        "(OPENNRT_NEFF_MAX_MEMBER_BYTES)",
                        size, limits.max_member_bytes);
  if (!range_within(bytes, size, room.members))
    return findings.add(NRT_INVALID, where,
                        "the member claims {} bytes on top of {}, the limit for all is {}", size,
                        bytes, room.name);
  uint64_t start = position();
  if (!source.gzip && !sparse && !range_within(start, size, source.payload.size()))
    return findings.add(NRT_INVALID, where,
                        "the member claims {} bytes, {} are left in the archive", size,
                        source.payload.size() - std::min<uint64_t>(start, source.payload.size()));
  return NRT_SUCCESS;
}

NRT_STATUS walk::read_data(const std::string &where, uint64_t size,
                           std::unique_ptr<uint8_t[]> *out) {
  // Not zeroed: the bytes are written once, by the read below.
  std::unique_ptr<uint8_t[]> data(new (std::nothrow) uint8_t[size + NEFF_MEMBER_PADDING]);
  if (data == nullptr)
    return findings.add(NRT_RESOURCE, where, "no host memory for the member's {} bytes", size);
  pages_hint_huge(data.get(), size);
  uint64_t done = 0;
  while (done < size) {
    // Not further ahead than this: what the entry claims need not be there.
    uint64_t step = std::min(size - done, kReadStep);
    pages_fill(data.get() + done, step);
    la_ssize_t got = archive_read_data(archive.get(), data.get() + done, step);
    if (got < 0)
      return fail(where, fmt::format("read {} of {} bytes", done, size));
    if (got == 0)
      break;
    done += static_cast<uint64_t>(got);
  }
  // A sparse member may end in a hole.
  if (done < size && !sparse)
    return fail(where, fmt::format("read {} of {} bytes", done, size));
  memset(data.get() + done, 0, size - done + NEFF_MEMBER_PADDING);
  *out = std::move(data);
  return NRT_SUCCESS;
}

// Checks what comes after the last entry.
NRT_STATUS walk::finish() {
  if (source.gzip) {
    // The stream's own CRC and length guard its end.
    if (source.drain() != NRT_SUCCESS)
      return findings.add(source.status, "archive", "{}", source.error);
    return NRT_SUCCESS;
  }
  // A bare tar cut between two members looks complete but for its end mark, blocks of zeros.
  uint64_t end = position();
  if (!sparse && end < data_end + kTarBlock)
    return findings.add(NRT_INVALID, fmt::format("archive: tar+0x{:x}", end),
                        "the archive ends without an end mark, after member '{}'", last);
  return NRT_SUCCESS;
}

std::string entry_name(struct archive_entry *entry) {
  const char *name = archive_entry_pathname(entry);
  if (name == nullptr)
    name = archive_entry_pathname_utf8(entry);
  std::string text = name != nullptr ? name : "";
  if (text.starts_with("./"))
    text.erase(0, 2);
  return text;
}

bool is_member(struct archive_entry *entry, const std::string &name) {
  return archive_entry_filetype(entry) == AE_IFREG && archive_entry_hardlink(entry) == nullptr &&
         !name.empty() && !name.ends_with(kIgnoredSuffix);
}

}  // namespace

NRT_STATUS neff_archive_reader::read(std::span<const uint8_t> payload, const neff_limits &limits,
                                     finding_sink &findings, neff *out) {
  neff_utf8_names names;
  walk w(payload, limits, findings);
  out->compressed = w.source.gzip;
  NRT_STATUS status = w.open();
  if (status != NRT_SUCCESS)
    return status;

  std::map<std::string, size_t, std::less<>> slots;  // member -> index in storage_
  NRT_STATUS first = NRT_SUCCESS;
  for (;;) {
    struct archive_entry *entry = w.entry.get();
    int result = archive_read_next_header2(w.archive.get(), entry);
    if (result == ARCHIVE_EOF)
      break;
    if (result != ARCHIVE_OK && result != ARCHIVE_WARN) {
      std::string where = fmt::format("archive: tar+0x{:x}", w.position());
      std::string after = w.last.empty() ? "at the first header"
                                         : fmt::format("at the header after member '{}'", w.last);
      return w.fail(where, after);
    }

    std::string name = entry_name(entry);
    w.last = name;
    std::string where =
        fmt::format("{}: tar+0x{:x}", name, archive_read_header_position(w.archive.get()));
    if (++w.entries > limits.max_members)
      return findings.add(NRT_INVALID, where,
                          "more than {} entries in the archive (OPENNRT_NEFF_MAX_MEMBERS)",
                          limits.max_members);
    auto size = static_cast<uint64_t>(archive_entry_size(entry));
    if (!is_member(entry, name)) {
      out->dropped.push_back(name);
      w.sparse = true;
      continue;
    }

    w.sparse = archive_entry_sparse_count(entry) > 0;
    status = w.check_entry(where, size);
    if (status != NRT_SUCCESS) {
      // Past a member that is too large the walk can go on, unless skipping it would inflate more
      // than the whole archive may hold; past damage, below, it cannot.
      if (!findings.collect() || !range_within(w.bytes, size, w.room.members))
        return status;
      if (first == NRT_SUCCESS)
        first = status;
      w.sparse = true;
      continue;
    }
    uint64_t data_start = w.position();
    std::unique_ptr<uint8_t[]> data;
    status = w.read_data(where, size, &data);
    if (status != NRT_SUCCESS)
      return status;
    w.data_end = data_start + size;

    w.bytes += size;
    std::span<const uint8_t> bytes(data.get(), size);
    auto [slot, fresh] = slots.try_emplace(name, out->storage_.size());
    if (fresh) {
      out->order.push_back(name);
      out->storage_.push_back(std::move(data));
      out->archive_bytes += size;
    } else {
      // The last of several members of one name counts.
      out->archive_bytes += size - out->members[name].size();
      out->storage_[slot->second] = std::move(data);
    }
    out->members[name] = bytes;
  }

  status = w.finish();
  out->tar_bytes = w.source.tar_bytes;
  return first != NRT_SUCCESS ? first : status;
}
