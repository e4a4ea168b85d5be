// SPDX-License-Identifier: Apache-2.0
// ls, extract, pack, sample: the container alone.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "kelf/kelf.h"
#include "neff/neff.h"
#include "tools/commands.h"
#include "tools/tool.h"

namespace {

NRT_STATUS open_file(const std::string &file, finding_sink &findings,
                     std::shared_ptr<const neff> *out) {
  neff_open_options options;
  NRT_STATUS status = neff_open_options_from_env(&options);
  if (status != NRT_SUCCESS)
    return findings.add(status, "environment", "{}", tool_take_error("a variable is malformed"));
  neff_file_bytes bytes;
  status = tool_read(file, findings, &bytes);
  return status == NRT_SUCCESS ? neff_open(bytes.span(), options, findings, out) : status;
}

// Splits a member name into directories and a last part. False for names that could lead out of a
// directory, or that name no file.
bool split_name(std::string_view name, std::vector<std::string> *parts) {
  if (name.empty() || name.front() == '/' || name.back() == '/')
    return false;
  while (!name.empty()) {
    size_t slash = name.find('/');
    std::string_view part = name.substr(0, slash);
    name = slash == std::string_view::npos ? std::string_view() : name.substr(slash + 1);
    if (part == "..")
      return false;
    if (!part.empty() && part != ".")
      parts->emplace_back(part);
  }
  return !parts->empty();
}

class directory_fd {
 public:
  explicit directory_fd(int fd) : fd_(fd) {}
  directory_fd(const directory_fd &) = delete;
  directory_fd &operator=(const directory_fd &) = delete;
  ~directory_fd() {
    if (fd_ >= 0)
      close(fd_);
  }
  int get() const { return fd_; }
  void reset(int fd) {
    if (fd_ >= 0)
      close(fd_);
    fd_ = fd;
  }

 private:
  int fd_;
};

// Writes one member below `root`. No component may be a symbolic link: one that lies there already
// could lead anywhere. Returns 0 or an errno.
int write_below(int root, const std::vector<std::string> &parts, std::span<const uint8_t> bytes) {
  directory_fd at(openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (size_t i = 0; at.get() >= 0 && i + 1 < parts.size(); i++) {
    if (mkdirat(at.get(), parts[i].c_str(), 0777) != 0 && errno != EEXIST)
      return errno;
    at.reset(openat(at.get(), parts[i].c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  if (at.get() < 0)
    return errno;
  directory_fd file(openat(at.get(), parts.back().c_str(),
                           O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                           0666));
  if (file.get() < 0)
    return errno;
  struct stat existing {};
  if (fstat(file.get(), &existing) != 0)
    return errno;
  if (!S_ISREG(existing.st_mode))
    return EEXIST;
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t put = write(file.get(), bytes.data() + done, bytes.size() - done);
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      return errno;
    done += static_cast<size_t>(put);
  }
  return 0;
}

// Members asked for, in archive order; what nothing answers to becomes a finding.
std::vector<std::string> select(const neff &source, const std::vector<std::string> &wanted,
                                finding_sink &findings) {
  if (wanted.empty())
    return source.order;
  std::vector<bool> used(wanted.size());
  std::vector<std::string> out;
  for (const std::string &name : source.order) {
    bool matches = false;
    for (size_t i = 0; i < wanted.size(); i++)
      if (name == wanted[i] || (wanted[i].ends_with('/') && name.starts_with(wanted[i]))) {
        used[i] = true;
        matches = true;
      }
    if (matches)
      out.push_back(name);
  }
  for (size_t i = 0; i < wanted.size(); i++)
    if (!used[i])
      findings.add(NRT_INVALID, wanted[i], "no such member");
  return out;
}

std::string member_type(std::string_view name) {
  size_t dot = name.rfind('.');
  size_t slash = name.rfind('/');
  if (dot == std::string_view::npos || (slash != std::string_view::npos && dot < slash))
    return "";
  return std::string(name.substr(dot + 1));
}

}  // namespace

int command_ls(const std::string &file, bool details, bool json) {
  finding_sink findings;
  std::shared_ptr<const neff> source;
  NRT_STATUS status = open_file(file, findings, &source);
  if (status != NRT_SUCCESS)
    return tool_fail(json, file, status, findings);
  if (json) {
    json_out out;
    out.begin_object().field("file", file).key("members").begin_array();
    for (const std::string &name : source->order)
      out.begin_object().field("name", name).field("size", source->find(name)->size()).end_object();
    out.end_array().key("dropped").begin_array();
    for (const std::string &name : source->dropped)
      out.value(name);
    out.end_array().field("bytes", source->archive_bytes).end_object();
    tool_print(out.text());
    return TOOL_OK;
  }
  tool_table table(details ? std::vector<std::string>{">Size", "Type", "Name"}
                           : std::vector<std::string>{">Size", "Name"});
  for (const std::string &name : source->order) {
    std::string size = std::to_string(source->find(name)->size());
    if (details)
      table.row({size, member_type(name), name});
    else
      table.row({size, name});
  }
  table.print("");
  if (details) {
    for (const std::string &name : source->dropped)
      tool_print(fmt::format("dropped: {}\n", tool_printable(name)));
    tool_print(fmt::format("{} members, {} bytes; payload of {} bytes, {}\n", source->order.size(),
                           source->archive_bytes, +source->header.data_size,
                           source->compressed ? "gzip" : "bare tar"));
  }
  return TOOL_OK;
}

int command_extract(const extract_arguments &arguments) {
  finding_sink findings(true);
  std::shared_ptr<const neff> source;
  {
    finding_sink opening;
    NRT_STATUS status = open_file(arguments.file, opening, &source);
    if (status != NRT_SUCCESS)
      return tool_fail(arguments.json, arguments.file, status, opening);
  }
  const std::string &directory = arguments.directory;
  if (mkdir(directory.c_str(), 0777) != 0 && errno != EEXIST)
    findings.add(NRT_FAILURE, directory, "cannot be created: {}", strerror(errno));
  directory_fd root(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (root.get() < 0 && findings.empty())
    findings.add(NRT_FAILURE, directory, "cannot be opened: {}", strerror(errno));
  if (!findings.empty())
    return tool_fail(arguments.json, arguments.file, findings.status(), findings);

  uint64_t written = 0;
  std::vector<std::string> done;
  {
    tool_progress progress("extracting " + arguments.file);
    for (const std::string &name : select(*source, arguments.members, findings)) {
      std::vector<std::string> parts;
      const auto &bytes = *source->find(name);
      if (!split_name(name, &parts)) {
        findings.add(NRT_INVALID, name, "refused: the name does not stay below the directory");
        continue;
      }
      int error = write_below(root.get(), parts, bytes);
      if (error != 0) {
        findings.add(NRT_FAILURE, name, "cannot be written: {}", strerror(error));
        continue;
      }
      done.push_back(name);
      written += bytes.size();
      progress.update(written, source->archive_bytes);
    }
  }
  tool_report(arguments.file, findings);
  if (arguments.json) {
    json_out out;
    out.begin_object().field("file", arguments.file).field("directory", directory);
    out.key("members").begin_array();
    for (const std::string &name : done)
      out.value(name);
    out.end_array().field("bytes", written);
    tool_put_findings(out, findings);
    out.end_object();
    tool_print(out.text());
  } else {
    tool_print(
        fmt::format("{} members, {} bytes, extracted to {}\n", done.size(), written, directory));
  }
  return findings.empty() ? TOOL_OK : TOOL_FINDINGS;
}

namespace {

int write_result(const std::string &output, const std::vector<uint8_t> &bytes, bool json,
                 finding_sink &findings) {
  NRT_STATUS status = neff_file_write(output, bytes, findings);
  if (status != NRT_SUCCESS)
    return tool_fail(json, output, status, findings);
  neff_header_t header{};
  memcpy(&header, bytes.data(), sizeof(header));
  if (json) {
    json_out out;
    out.begin_object().field("file", output).field("bytes", bytes.size());
    out.field("uuid", neff_uuid_text(header.uuid));
    out.field("lnc_size", static_cast<uint32_t>(header.lnc_size));
    out.key("feature_bits").hex(header.feature_bits);
    tool_put_findings(out, findings);
    out.end_object();
    tool_print(out.text());
  } else {
    tool_print(fmt::format("{}: {} bytes, UUID {}, lnc_size {}, features 0x{:x}\n", output,
                           bytes.size(), neff_uuid_text(header.uuid), +header.lnc_size,
                           +header.feature_bits));
  }
  return TOOL_OK;
}

// Fills the header's fields that follow from the content, as far as they are not given. Findings
// tell that a load would refuse the content.
void derive_header(const pack_arguments &arguments, finding_sink &findings,
                   std::vector<uint8_t> *bytes) {
  std::shared_ptr<const neff> source;
  if (neff_open(*bytes, {}, findings, &source) != NRT_SUCCESS)
    return;
  std::unique_ptr<kelf_nn_t> nn;
  kelf_options lowering;
  lowering.allow_legacy_neff = true;
  if (kelf_load_nn(source, lowering, findings, &nn) != NRT_SUCCESS)
    return;
  neff_header_t header = source->header;
  if (!arguments.lnc_given)
    header.lnc_size = static_cast<uint32_t>(nn->kbins.size());
  if (!arguments.features_given) {
    header.feature_bits = nn->target == KELF_TARGET_SUNDA ? 0 : 0x800;
    if (header.lnc_size > 1)
      header.feature_bits |= NEFF_FEATURE_VNC;
  }
  memcpy(bytes->data(), &header, sizeof(header));
}

}  // namespace

int command_pack(const pack_arguments &arguments) {
  finding_sink findings(true);
  neff_write_members members;
  NRT_STATUS status = neff_collect_directory(arguments.directory, findings, &members);
  if (status != NRT_SUCCESS)
    return tool_fail(arguments.json, arguments.directory, status, findings);
  std::vector<uint8_t> bytes;
  status = neff_write(members, arguments.options, findings, &bytes);
  if (status != NRT_SUCCESS)
    return tool_fail(arguments.json, arguments.directory, status, findings);
  members.clear();
  derive_header(arguments, findings, &bytes);
  if (!findings.empty() && !arguments.force)
    return tool_fail(arguments.json, arguments.directory, findings.status(), findings);
  if (!findings.empty()) {
    tool_note(
        fmt::format("neff: {}: packed, but its content would be refused:\n", arguments.directory));
    tool_report(arguments.directory, findings);
  }
  return write_result(arguments.output, bytes, arguments.json, findings);
}

int command_sample(const neff_sample_options &options, const std::string &output,
                   const std::string &data, bool json) {
  finding_sink findings;
  std::vector<uint8_t> bytes;
  NRT_STATUS status = neff_sample_build(options, findings, &bytes);
  std::map<std::string, std::vector<uint8_t>> arrays;
  if (status == NRT_SUCCESS && !data.empty())
    status = neff_sample_data(options.cores, findings, &arrays);
  for (const auto &[name, array] : arrays)
    if (status == NRT_SUCCESS)
      status = neff_file_write(data + "/" + name + ".npy", array, findings);
  if (status != NRT_SUCCESS)
    return tool_fail(json, output, status, findings);
  return write_result(output, bytes, json, findings);
}
