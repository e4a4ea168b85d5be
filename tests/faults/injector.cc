// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/injector.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include "uapi/neuron_ioctl.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_MALLOC 0
#else
#define OWN_MALLOC 1
#endif

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int kFrames = 24;

std::atomic<bool> g_armed{false}, g_fired{false};
std::atomic<int> g_kind{0}, g_error{0};
std::atomic<uint64_t> g_nth{0}, g_count{0};
std::atomic<uint32_t> g_request{0};
std::atomic<bool> g_host_memory{false};
std::atomic<int64_t> g_live{0}, g_blocks{0};  // bytes and blocks from malloc
int64_t g_live_before = 0, g_blocks_before = 0;
std::atomic<mock_host_t *> g_machine{nullptr};
void *g_frames[kFrames];
int g_frame_count = 0;
thread_local bool t_counts = false, t_in_driver = false;
std::atomic<bool> g_in_driver{false};

// True when this event has to fail.
bool strikes(fault_kind_t kind) {
  if (!t_counts || !g_armed.load(std::memory_order_relaxed) || g_kind.load() != kind)
    return false;
  if (g_count.fetch_add(1) + 1 != g_nth.load())
    return false;
  g_fired.store(true);
  g_in_driver = t_in_driver;
  t_counts = false;
  g_frame_count = backtrace(g_frames, kFrames);
  t_counts = true;
  return true;
}

// The next definition of a function, past this executable's own.
template <typename F>
F next(const char *name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

struct start_t {
  void *(*function)(void *);
  void *argument;
};

void *start_counting(void *argument) {
  start_t start = *static_cast<start_t *>(argument);
  delete static_cast<start_t *>(argument);
  t_counts = true;
  void *result = start.function(start.argument);
  t_counts = false;
  return result;
}

bool asks_for_host_memory(uint32_t request, const void *arg) {
  switch (request) {
    case NEURON_IOCTL_MEM_ALLOC:
      return static_cast<const neuron_ioctl_mem_alloc *>(arg)->host_memory != 0;
    case NEURON_IOCTL_MEM_ALLOC_V2:
      return static_cast<const neuron_ioctl_mem_alloc_v2 *>(arg)->host_memory != 0;
    case NEURON_IOCTL_MEM_ALLOC_V2MT:
      return static_cast<const neuron_ioctl_mem_alloc_v2_mem_type *>(arg)->host_memory != 0;
    case NEURON_IOCTL_MEM_ALLOC_V2MT64:
      return static_cast<const neuron_ioctl_mem_alloc_v2_mem_type64 *>(arg)->host_memory != 0;
    default:
      return false;
  }
}

}  // namespace

const char *fault_kind_name(fault_kind_t kind) {
  static const char *const names[] = {"request", "allocation", "mapping", "thread"};
  return names[kind];
}

void fault_arm(fault_kind_t kind, uint64_t nth, int error) {
  g_frame_count = backtrace(g_frames, kFrames);  // its first call loads a library
  g_kind = kind;
  g_nth = nth;
  g_error = error;
  g_count = 0;
  g_fired = false;
  g_request = 0;
  g_host_memory = false;
  g_in_driver = false;
  g_frame_count = 0;
  g_live_before = g_live;
  g_blocks_before = g_blocks;
  g_armed = true;
  t_counts = true;
}

fault_report_t fault_disarm() {
  t_counts = false;
  g_armed = false;
  // Before anything is made here.
  int64_t blocks = g_blocks - g_blocks_before, bytes = g_live - g_live_before;
  fault_report_t report{g_count, g_fired, g_request, g_in_driver, g_host_memory, blocks, bytes, ""};
  if (g_frame_count > 0) {
    char **names = backtrace_symbols(g_frames, g_frame_count);
    for (int i = 2; names != nullptr && i < g_frame_count; i++)
      report.where += std::string("\n  ") + names[i];
    free(names);
  }
  return report;
}

bool fault_sees_malloc() {
  return OWN_MALLOC != 0;
}

int64_t fault_live_blocks() {
  return g_blocks.load();
}

mock_host_t *fault_machine() {
  return g_machine.load();
}

// --- the mocked driver, wrapped by the linker ---

extern "C" {
long __real_mock_ioctl(mock_host_t *host, int32_t tgid, int fd, uint32_t request, void *arg);
int __real_mock_host_create(const mock_dev_options_t *options, mock_host_t **out);
void __real_mock_host_destroy(mock_host_t *host);

long __wrap_mock_ioctl(mock_host_t *host, int32_t tgid, int fd, uint32_t request, void *arg) {
  if (!strikes(FAULT_IOCTL)) {
    t_in_driver = true;
    long rc = __real_mock_ioctl(host, tgid, fd, request, arg);
    t_in_driver = false;
    return rc;
  }
  g_request = request;
  g_host_memory = asks_for_host_memory(request, arg);
  return -g_error.load();
}

// libarchive 3.6 uses what it allocates in here without looking (README.md of neff/).
int __real_archive_read_open(void *archive, void *user, void *open_callback, void *read_callback,
                             void *close_callback);
int __wrap_archive_read_open(void *archive, void *user, void *open_callback, void *read_callback,
                             void *close_callback) {
  bool counted = t_counts;
  t_counts = false;
  int rc = __real_archive_read_open(archive, user, open_callback, read_callback, close_callback);
  t_counts = counted;
  return rc;
}

int __real_mock_mmap(mock_host_t *host, int32_t tgid, int fd, uint64_t offset, size_t length,
                     int prot, void **va);
int __wrap_mock_mmap(mock_host_t *host, int32_t tgid, int fd, uint64_t offset, size_t length,
                     int prot, void **va) {
  t_in_driver = true;
  int rc = __real_mock_mmap(host, tgid, fd, offset, length, prot, va);
  t_in_driver = false;
  return rc;
}

int __wrap_mock_host_create(const mock_dev_options_t *options, mock_host_t **out) {
  int rc = __real_mock_host_create(options, out);
  if (rc == 0)
    g_machine = *out;
  return rc;
}

void __wrap_mock_host_destroy(mock_host_t *host) {
  if (host != nullptr && g_machine == host)
    g_machine = nullptr;
  __real_mock_host_destroy(host);
}
}

// --- mappings and threads ---

using mmap_t = void *(*)(void *, size_t, int, int, int, off_t);

static void *map(void *at, size_t length, int prot, int flags, int fd, off_t offset) {
  static const mmap_t real = next<mmap_t>("mmap");
  if (strikes(FAULT_MMAP)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return real(at, length, prot, flags, fd, offset);
}

EXPORT void *mmap64(void *at, size_t length, int prot, int flags, int fd, off_t offset) {
  return map(at, length, prot, flags, fd, offset);
}

using create_t = int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*function)(void *), void *argument) {
  static const create_t real = next<create_t>("pthread_create");
  if (strikes(FAULT_THREAD))
    return EAGAIN;
  if (!t_counts)
    return real(thread, attributes, function, argument);
  t_counts = false;
  auto *start = new start_t{function, argument};
  t_counts = true;
  int rc = real(thread, attributes, start_counting, start);
  if (rc != 0)
    delete start;
  return rc;
}

// --- memory ---

#if OWN_MALLOC
extern "C" {
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);
}

static void count_block(void *block, int64_t sign) {
  if (block == nullptr)
    return;
  g_live.fetch_add(sign * static_cast<int64_t>(malloc_usable_size(block)),
                   std::memory_order_relaxed);
  g_blocks.fetch_add(sign, std::memory_order_relaxed);
}

static void *counted(void *block) {
  count_block(block, 1);
  return block;
}

static void *exhausted() {
  errno = ENOMEM;
  return nullptr;
}

EXPORT void *malloc(size_t size) {
  return strikes(FAULT_MEMORY) ? exhausted() : counted(__libc_malloc(size));
}

EXPORT void *calloc(size_t count, size_t size) {
  return strikes(FAULT_MEMORY) ? exhausted() : counted(__libc_calloc(count, size));
}

EXPORT void *realloc(void *old, size_t size) {
  if (strikes(FAULT_MEMORY))
    return exhausted();
  count_block(old, -1);
  void *block = __libc_realloc(old, size);
  count_block(block == nullptr && size != 0 ? old : block, 1);
  return block;
}

EXPORT void *memalign(size_t alignment, size_t size) {
  return strikes(FAULT_MEMORY) ? exhausted() : counted(__libc_memalign(alignment, size));
}

EXPORT void *aligned_alloc(size_t alignment, size_t size) {
  return memalign(alignment, size);
}

EXPORT int posix_memalign(void **out, size_t alignment, size_t size) {
  void *block = memalign(alignment, size);
  if (block == nullptr)
    return ENOMEM;
  *out = block;
  return 0;
}

EXPORT void free(void *block) {
  count_block(block, -1);
  __libc_free(block);
}
#else
// The sanitizer owns malloc; C++ lets a program replace operator new.
__attribute__((visibility("default"))) void *operator new(size_t size) {
  void *block = strikes(FAULT_MEMORY) ? nullptr : malloc(size);
  if (block == nullptr)
    throw std::bad_alloc();
  return block;
}
__attribute__((visibility("default"))) void *operator new[](size_t size) {
  return operator new(size);
}
__attribute__((visibility("default"))) void *operator new(size_t size,
                                                          const std::nothrow_t &) noexcept {
  return strikes(FAULT_MEMORY) ? nullptr : malloc(size);
}
__attribute__((visibility("default"))) void *operator new[](size_t size,
                                                            const std::nothrow_t &tag) noexcept {
  return operator new(size, tag);
}
__attribute__((visibility("default"))) void operator delete(void *block) noexcept {
  free(block);
}
__attribute__((visibility("default"))) void operator delete[](void *block) noexcept {
  free(block);
}
__attribute__((visibility("default"))) void operator delete(void *block, size_t) noexcept {
  free(block);
}
__attribute__((visibility("default"))) void operator delete[](void *block, size_t) noexcept {
  free(block);
}
__attribute__((visibility("default"))) void operator delete(void *block,
                                                            const std::nothrow_t &) noexcept {
  free(block);
}
#endif
