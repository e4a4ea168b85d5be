// SPDX-License-Identifier: Apache-2.0
#include "neff/neff_write.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "neff/neff.h"
#include "neff/neff_digest.h"
#include "neff/neff_file.h"
#include "neff/neff_locale.h"

namespace {

constexpr size_t kPadTo = 10240;
constexpr size_t kNameMax = 4095;  // PATH_MAX without its NUL: what an extractor can create

struct archive_closer {
  void operator()(struct archive *a) const { archive_write_free(a); }
};
struct entry_closer {
  void operator()(struct archive_entry *e) const { archive_entry_free(e); }
};

la_ssize_t append(struct archive *, void *user, const void *buffer, size_t length) {
  auto *out = static_cast<std::vector<uint8_t> *>(user);
  const auto *bytes = static_cast<const uint8_t *>(buffer);
  out->insert(out->end(), bytes, bytes + length);
  return static_cast<la_ssize_t>(length);
}

NRT_STATUS check_name(const std::string &name, finding_sink &findings) {
  if (name.empty() || name.size() > kNameMax || name.find('\0') != std::string::npos)
    return findings.add(NRT_INVALID, name.substr(0, 64),
                        "a member name has 1 to {} bytes and no NUL; this one has {}", kNameMax,
                        name.size());
  // A reader would see these under another name, or not at all.
  if (name.starts_with("./") || name.ends_with('/') || name.ends_with("wavegraph-bin.json"))
    return findings.add(NRT_INVALID, name, "a reader would not find a member of this name");
  return NRT_SUCCESS;
}

NRT_STATUS check_options(const neff_write_options &options, finding_sink &findings) {
  if (options.name.size() >= sizeof(neff_header_t::name) ||
      options.name.find('\0') != std::string::npos)
    return findings.add(NRT_INVALID, "header.name", "{} bytes, at most {} without NUL fit",
                        options.name.size(), sizeof(neff_header_t::name) - 1);
  if (options.version_major > 2)
    return findings.add(NRT_UNSUPPORTED_NEFF_VERSION, "header.neff_version_major",
                        "{} is not known; 0 to 2 are", options.version_major);
  if (options.pkg_version != 1 && options.pkg_version != 2)
    return findings.add(NRT_UNSUPPORTED_NEFF_VERSION, "header.pkg_version",
                        "{} is not known; 1 and 2 are", options.pkg_version);
  if ((options.feature_bits & NEFF_UNSUPPORTED_FEATURES) != 0)
    return findings.add(NRT_UNSUPPORTED_NEFF_VERSION, "header.feature_bits",
                        "0x{:x} has bits beyond 26", options.feature_bits);
  if (options.num_tpb == 0 || options.num_tpb > UINT8_MAX)
    return findings.add(NRT_INVALID, "header.num_tpb", "{} is not in 1..{}", options.num_tpb,
                        UINT8_MAX);
  return NRT_SUCCESS;
}

NRT_STATUS write_archive(const neff_write_members &members, bool compress, finding_sink &findings,
                         std::vector<uint8_t> *payload) {
  neff_utf8_names names;
  std::unique_ptr<struct archive, archive_closer> archive(archive_write_new());
  std::unique_ptr<struct archive_entry, entry_closer> entry(archive_entry_new());
  if (archive == nullptr || entry == nullptr)
    return findings.add(NRT_RESOURCE, "archive", "no host memory");
  struct archive *a = archive.get();
  auto failed = [&](const std::string &where) {
    const char *reason = archive_error_string(a);
    return findings.add(NRT_FAILURE, where, "cannot be archived: {}",
                        reason != nullptr ? reason : "unknown");
  };

  // Ustar, with pax records only where ustar cannot hold a name or a size.
  int result = archive_write_set_format_pax_restricted(a);
  if (result == ARCHIVE_OK && compress) {
    result = archive_write_add_filter_gzip(a);
    if (result == ARCHIVE_OK)
      result = archive_write_set_filter_option(a, "gzip", "compression-level", "1");
    // Unset, the option leaves the time out; any text, "false" too, would put it in.
    if (result == ARCHIVE_OK)
      result = archive_write_set_filter_option(a, "gzip", "timestamp", nullptr);
  }
  // Padding is this writer's own option, not a matter of output blocks.
  if (result == ARCHIVE_OK)
    result = archive_write_set_bytes_in_last_block(a, 1);
  if (result != ARCHIVE_OK ||
      archive_write_open(a, payload, nullptr, append, nullptr) != ARCHIVE_OK)
    return failed("archive");

  for (const auto &[name, bytes] : members) {
    archive_entry_clear(entry.get());
    archive_entry_set_pathname(entry.get(), name.c_str());
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), 0664);
    archive_entry_set_mtime(entry.get(), 0, 0);
    archive_entry_set_uname(entry.get(), "nobody");
    archive_entry_set_gname(entry.get(), "nobody");
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(bytes.size()));
    // ARCHIVE_WARN: the name is no UTF-8 and was marked as plain bytes.
    if (archive_write_header(a, entry.get()) < ARCHIVE_WARN)
      return failed(name);
    size_t done = 0;
    while (done < bytes.size()) {
      la_ssize_t put = archive_write_data(a, bytes.data() + done, bytes.size() - done);
      if (put <= 0)
        return failed(name);
      done += static_cast<size_t>(put);
    }
  }
  if (archive_write_close(a) != ARCHIVE_OK)
    return failed("archive");
  return NRT_SUCCESS;
}

void derive_uuid(std::span<const uint8_t> payload, uint8_t uuid[16]) {
  auto digest = neff_sha256(payload);
  memcpy(uuid, digest.data(), 16);
  uuid[6] = static_cast<uint8_t>((uuid[6] & 0x0F) | 0x40);  // version 4
  uuid[8] = static_cast<uint8_t>((uuid[8] & 0x3F) | 0x80);  // RFC 4122 variant
}

void store_digest(std::span<const uint8_t> payload, bool word_reversed, neff_header_t *header) {
  if (header->pkg_version == 1) {
    auto digest = neff_sha256(payload);
    memcpy(header->hash, digest.data(), digest.size());
    return;
  }
  auto digest = neff_md5(payload);
  if (word_reversed)
    digest = neff_md5_word_reversed(digest);
  memcpy(header->hash, digest.data(), digest.size());
}

}  // namespace

NRT_STATUS neff_write(const neff_write_members &members, const neff_write_options &options,
                      finding_sink &findings, std::vector<uint8_t> *out) {
  NRT_STATUS status = check_options(options, findings);
  for (auto it = members.begin(); status == NRT_SUCCESS && it != members.end(); ++it)
    status = check_name(it->first, findings);
  if (status != NRT_SUCCESS)
    return status;

  // The payload grows behind room for the header.
  std::vector<uint8_t> file(NEFF_HEADER_SIZE);
  status = write_archive(members, options.compress, findings, &file);
  if (status != NRT_SUCCESS)
    return status;
  if (options.pad)
    file.resize(NEFF_HEADER_SIZE + (file.size() - NEFF_HEADER_SIZE + kPadTo - 1) / kPadTo * kPadTo);
  std::span<const uint8_t> payload = std::span(file).subspan(NEFF_HEADER_SIZE);

  neff_header_t header{};
  header.pkg_version = options.pkg_version;
  header.header_size = NEFF_HEADER_SIZE;
  header.data_size = payload.size();
  header.neff_version_major = options.version_major;
  header.num_tpb = options.num_tpb;
  store_digest(payload, options.word_reversed_md5, &header);
  bool given = std::any_of(std::begin(options.uuid), std::end(options.uuid),
                           [](uint8_t byte) { return byte != 0; });
  if (given)
    memcpy(header.uuid, options.uuid, sizeof(header.uuid));
  else
    derive_uuid(payload, header.uuid);
  memcpy(header.name, options.name.data(), options.name.size());
  header.requested_tpb_count = options.num_tpb;
  header.tpb_per_node[0] = static_cast<uint8_t>(options.num_tpb);
  header.feature_bits = options.feature_bits;
  header.lnc_size = options.lnc_size;
  memcpy(file.data(), &header, sizeof(header));
  *out = std::move(file);
  return NRT_SUCCESS;
}

NRT_STATUS neff_collect_directory(const std::string &directory, finding_sink &findings,
                                  neff_write_members *out) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path root = fs::canonical(directory, error);
  if (!error && !fs::is_directory(root, error) && !error)
    error = std::make_error_code(std::errc::not_a_directory);
  if (error)
    return findings.add(NRT_INVALID, directory, "cannot be opened: {}", error.message());

  neff_write_members members;
  NRT_STATUS first = NRT_SUCCESS;
  // False: stop here.
  auto report = [&](NRT_STATUS status) {
    if (first == NRT_SUCCESS)
      first = status;
    return findings.collect();
  };
  // Links to directories are not followed: they are met below as entries that are no files.
  fs::recursive_directory_iterator it(root, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    const fs::path &path = it->path();
    std::error_code ignored;
    if (it->is_directory(ignored) && !it->is_symlink(ignored))
      continue;
    std::string name = path.lexically_relative(root).string();
    if (it->is_symlink(ignored)) {
      fs::path target = fs::canonical(path, ignored);
      auto [end, rest] = std::mismatch(root.begin(), root.end(), target.begin(), target.end());
      if (end != root.end() || !fs::is_regular_file(target, ignored)) {
        if (!report(findings.add(NRT_INVALID, name,
                                 "the link does not lead to a file below the directory")))
          return first;
        continue;
      }
    } else if (!it->is_regular_file(ignored)) {
      if (!report(findings.add(NRT_INVALID, name, "neither a file nor a directory")))
        return first;
      continue;
    }
    NRT_STATUS status = check_name(name, findings);
    neff_file_bytes bytes;
    if (status == NRT_SUCCESS)
      status = neff_file_read(path.string(), findings, &bytes);
    if (status != NRT_SUCCESS) {
      if (!report(status))
        return first;
      continue;
    }
    members[name].assign(bytes.data.get(), bytes.data.get() + bytes.size);
  }
  if (error)
    return findings.add(NRT_FAILURE, directory, "cannot be walked: {}", error.message());
  if (first == NRT_SUCCESS)
    *out = std::move(members);
  return first;
}
