// SPDX-License-Identifier: Apache-2.0
#include "neff/neff_file.h"

#include <fcntl.h>
#include <liburing.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <vector>

#include "base/env.h"

namespace {

constexpr size_t kBlock = 4 << 20;
constexpr unsigned kDepth = 8;

class descriptor {
 public:
  explicit descriptor(int fd) : fd_(fd) {}
  descriptor(const descriptor &) = delete;
  descriptor &operator=(const descriptor &) = delete;
  ~descriptor() {
    if (fd_ >= 0)
      close(fd_);
  }
  int get() const { return fd_; }
  int release() {
    int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  int fd_;
};

struct request {
  uint64_t offset;
  size_t length;
};

// One file, read into a buffer of its size.
struct file_reader {
  int fd;
  uint8_t *data;
  uint64_t size;
  const neff_file_progress &progress;

  void report(uint64_t done) const {
    if (progress)
      progress(done, size);
  }

  // 0, -errno, or -ESTALE when the file turned out shorter than it was.
  int read_all() const {
    uint64_t done = 0;
    while (done < size) {
      ssize_t got =
          pread(fd, data + done, std::min<uint64_t>(size - done, kBlock), static_cast<off_t>(done));
      if (got < 0 && errno == EINTR)
        continue;
      if (got < 0)
        return -errno;
      if (got == 0)
        return -ESTALE;
      done += static_cast<uint64_t>(got);
      report(done);
    }
    return 0;
  }

  int ring_read(io_uring *ring) const;
};

// Keeps kDepth blocks in flight. Never returns while the kernel may still write into the buffer.
int file_reader::ring_read(io_uring *ring) const {
  std::vector<request> requests(kDepth);
  std::vector<unsigned> idle;
  for (unsigned i = 0; i < kDepth; i++)
    idle.push_back(i);
  uint64_t next = 0;
  uint64_t done = 0;
  unsigned in_flight = 0;
  int error = 0;

  auto submit = [&](unsigned slot) {
    io_uring_sqe *sqe = io_uring_get_sqe(ring);
    if (sqe == nullptr)
      return false;
    const request &r = requests[slot];
    io_uring_prep_read(sqe, fd, data + r.offset, static_cast<unsigned>(r.length), r.offset);
    io_uring_sqe_set_data64(sqe, slot);
    in_flight++;
    return true;
  };

  while (error == 0 && done < size) {
    while (error == 0 && next < size && !idle.empty()) {
      unsigned slot = idle.back();
      requests[slot] = {next, std::min<uint64_t>(size - next, kBlock)};
      if (!submit(slot))
        break;
      idle.pop_back();
      next += requests[slot].length;
    }
    int submitted = io_uring_submit_and_wait(ring, 1);
    if (submitted < 0 && submitted != -EINTR) {
      error = submitted;
      break;
    }
    io_uring_cqe *cqe = nullptr;
    while (io_uring_peek_cqe(ring, &cqe) == 0) {
      auto slot = static_cast<unsigned>(io_uring_cqe_get_data64(cqe));
      int result = cqe->res;
      io_uring_cqe_seen(ring, cqe);
      in_flight--;
      request &r = requests[slot];
      if (result == 0) {
        error = -ESTALE;
        continue;
      }
      if (result < 0 && result != -EINTR && result != -EAGAIN) {
        error = result;
        continue;
      }
      if (result > 0) {
        done += static_cast<uint64_t>(result);
        r.offset += static_cast<uint64_t>(result);
        r.length -= static_cast<size_t>(result);
        report(done);
      }
      if (r.length == 0)
        idle.push_back(slot);
      else if (!submit(slot))  // a short read: the rest is asked for again
        error = -EBUSY;
    }
  }

  // After an error: entries never handed to the kernel do not complete, but closing the ring waits
  // for those that were; reap them here so that the buffer is ours again.
  unsigned unsubmitted = io_uring_sq_ready(ring);
  in_flight -= std::min(in_flight, unsubmitted);
  while (in_flight > 0) {
    io_uring_cqe *cqe = nullptr;
    int waited = io_uring_wait_cqe(ring, &cqe);
    if (waited == -EINTR)
      continue;
    if (waited < 0)
      break;
    io_uring_cqe_seen(ring, cqe);
    in_flight--;
  }
  return error;
}

bool same_file_state(const struct stat &a, const struct stat &b) {
  return a.st_size == b.st_size && a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
         a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

}  // namespace

NRT_STATUS neff_file_read(const std::string &path, finding_sink &findings, neff_file_bytes *out,
                          const neff_file_progress &progress) {
  bool want_ring = true;
  NRT_STATUS status = env_bool("OPENNRT_IO_URING", true, &want_ring);
  if (status != NRT_SUCCESS)
    return findings.add(status, "environment",
                        "OPENNRT_IO_URING='{}' is not a boolean; accepted: true, false, 1, 0",
                        env_string("OPENNRT_IO_URING", ""));

  // Opening a pipe would wait for its writer, hence O_NONBLOCK; it means nothing to regular files.
  descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0)
    return findings.add(NRT_INVALID, path, "cannot be opened: {}", strerror(errno));
  struct stat before {};
  if (fstat(file.get(), &before) != 0)
    return findings.add(NRT_FAILURE, path, "cannot be examined: {}", strerror(errno));
  if (!S_ISREG(before.st_mode))
    return findings.add(NRT_INVALID, path, "not a regular file");

  neff_file_bytes bytes;
  bytes.size = static_cast<size_t>(before.st_size);
  bytes.data.reset(new (std::nothrow) uint8_t[bytes.size]);
  if (bytes.data == nullptr)
    return findings.add(NRT_RESOURCE, path, "no host memory for its {} bytes", bytes.size);

  file_reader reader{file.get(), bytes.data.get(), bytes.size, progress};
  int error = -ENOSYS;
  io_uring ring{};
  if (want_ring && io_uring_queue_init(kDepth, &ring, 0) == 0) {
    error = reader.ring_read(&ring);
    io_uring_queue_exit(&ring);
    bytes.used_io_uring = error == 0;
  }
  // Whatever the ring could not do (forbidden by a sandbox, unknown to an old kernel) pread does; a
  // true read error shows again there.
  if (error != 0 && error != -ESTALE)
    error = reader.read_all();
  struct stat after {};
  if (error == 0 && fstat(file.get(), &after) != 0)
    error = -errno;
  if (error == -ESTALE || (error == 0 && !same_file_state(before, after)))
    return findings.add(NRT_INVALID, path, "changed while being read");
  if (error != 0)
    return findings.add(NRT_FAILURE, path, "cannot be read: {}", strerror(-error));
  *out = std::move(bytes);
  return NRT_SUCCESS;
}

NRT_STATUS neff_file_write(const std::string &path, std::span<const uint8_t> bytes,
                           finding_sink &findings) {
  auto refuse = [&](const char *what) {
    return findings.add(NRT_FAILURE, path, "{}: {}", what, strerror(errno));
  };
  // Devices and pipes are written to, never replaced.
  struct stat existing {};
  bool in_place = stat(path.c_str(), &existing) == 0 && !S_ISREG(existing.st_mode);
  std::string temporary = in_place ? path : fmt::format("{}.{}.tmp", path, getpid());
  int flags = in_place ? O_WRONLY : O_WRONLY | O_CREAT | O_TRUNC;
  descriptor file(open(temporary.c_str(), flags | O_CLOEXEC, 0666));
  if (file.get() < 0)
    return refuse("cannot be created");
  auto give_up = [&](const char *what) {
    NRT_STATUS status = refuse(what);
    if (!in_place)
      unlink(temporary.c_str());
    return status;
  };
  size_t done = 0;
  while (done < bytes.size()) {
    ssize_t put = write(file.get(), bytes.data() + done, std::min(bytes.size() - done, kBlock));
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      return give_up("cannot be written");
    done += static_cast<size_t>(put);
  }
  if (close(file.release()) != 0)
    return give_up("cannot be written");
  if (!in_place && rename(temporary.c_str(), path.c_str()) != 0)
    return give_up("cannot be put in place");
  return NRT_SUCCESS;
}
