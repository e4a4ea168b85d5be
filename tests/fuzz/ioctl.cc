// SPDX-License-Identifier: Apache-2.0
// Sequences of calls to a mocked machine: opens, closes, mappings and requests of four processes
// with arbitrary arguments. After each sequence the machine's books must agree, and when everyone
// has gone, it must be as new. The input's form: `step` below, make_seeds.py writes some.
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "tests/fuzz/mock_audit.h"
#include "tests/fuzz/support.h"

// The mock waits for locks in steps of a millisecond; here the steps take no time.
extern "C" int nanosleep(const timespec *, timespec *) {
  return 0;
}

namespace {

constexpr uint32_t kSteps = 64;
constexpr size_t kArena = 64 << 10, kGuard = 64 << 10;  // the caller's memory; none behind it
constexpr size_t kArgument = 12296;                     // largest argument of a request
constexpr uint64_t kLongCopy = 1 << 20;  // longer ones that could succeed are cut, for speed

enum step_t : uint8_t {
  OPEN,
  CLOSE,
  DUP,
  READ,
  MAP,
  UNMAP,
  EXIT,
  ALLOC,
  COPY,
  REQUEST,
  STEP_COUNT
};

struct request_t {
  const char *name;
  uint32_t value;
};
#define ROW(name) {#name, NEURON_IOCTL_##name},
constexpr request_t kRequests[] = {NEURON_IOCTL_LIST(ROW)};
#undef ROW

// Where the arguments hold addresses of the caller. Arbitrary numbers there could hit the fuzzer's
// own memory, so they are always one of `pointer` below.
struct field_t {
  uint32_t request;
  uint32_t offset;
};
#define AT(request, type, member) \
  { NEURON_IOCTL_##request, offsetof(neuron_ioctl_##type, member) }
constexpr field_t kPointers[] = {
    AT(MEM_ALLOC, mem_alloc, mem_handle),
    AT(MEM_ALLOC_V2, mem_alloc_v2, mem_handle),
    AT(MEM_ALLOC_V2MT, mem_alloc_v2_mem_type, mem_handle),
    AT(MEM_ALLOC_V2MT64, mem_alloc_v2_mem_type64, mem_handle),
    AT(MEM_GET_PA, mem_get_pa, pa),
    AT(MEM_GET_INFO, mem_get_info, mmap_offset),
    AT(MEM_GET_INFO, mem_get_info, pa),
    AT(MEM_COPY_ASYNC, mem_copy_async, host_prefetch_addr),
    AT(MEM_COPY_ASYNC64, mem_copy_async64, host_prefetch_addr),
    AT(MEM_BUF_COPY, mem_buf_copy, buffer),
    AT(MEM_BUF_COPY64, mem_buf_copy64, buffer),
    AT(MEM_BUF_ZEROCOPY64, mem_buf_copy64, buffer),
    AT(PROGRAM_ENGINE, program_engine, buffer),
    AT(PROGRAM_ENGINE_NC, program_engine_nc, buffer),
    AT(PROGRAM_ENGINE_NC64, program_engine_nc64, buffer),
    AT(DUMP_MEM_CHUNKS, dump_mem_chunks, data),
    AT(DMABUF_FD, dmabuf_fd, va),
    AT(DMABUF_FD, dmabuf_fd, fd),
    AT(DMA_ENG_GET_STATE, dma_eng_get_state, state),
    AT(DMA_QUEUE_GET_STATE, dma_queue_get_state, tx),
    AT(DMA_QUEUE_GET_STATE, dma_queue_get_state, rx),
    AT(DMA_COPY_DESCRIPTORS, dma_copy_descriptors, buffer),
    AT(DMA_COPY_DESCRIPTORS64, dma_copy_descriptors64, buffer),
    AT(DMA_DESCRIPTOR_COPYOUT, dma_descriptor_copyout, buffer),
    AT(BAR_READ, bar_rw, address),
    AT(BAR_READ, bar_rw, data),
    AT(BAR_WRITE, bar_rw, address),
    AT(BAR_WRITE, bar_rw, data),
    AT(READ_HW_COUNTERS, read_hw_counters, address),
    AT(READ_HW_COUNTERS, read_hw_counters, data),
    AT(POST_METRIC, post_metric, data),
    AT(PRINTK, printk, buffer),
    AT(GET_LOGICAL_TO_PHYSICAL_NC_MAP, get_logical_to_physical_nc_map, map),
};
// 64-bit lengths of what is moved. The 32-bit ones are halves of the same words.
constexpr field_t kLengths[] = {
    AT(MEM_COPY, mem_copy, size),
    AT(MEM_COPY64, mem_copy64, size),
    AT(MEM_COPY_ASYNC, mem_copy_async, size),
    AT(MEM_COPY_ASYNC64, mem_copy_async64, size),
    AT(MEMSET, memset, size),
    AT(MEMSET64, memset64, size),
};
#undef AT

// The caller's memory, with a hole behind it.
uint8_t *arena() {
  static uint8_t *at = [] {
    void *va =
        mmap(nullptr, kArena + kGuard, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    FUZZ_CHECK(
        va != MAP_FAILED && mprotect(static_cast<uint8_t *>(va) + kArena, kGuard, PROT_NONE) == 0,
        "no memory");
    return static_cast<uint8_t *>(va);
  }();
  return at;
}

struct mapping_t {
  uint8_t *va;
  size_t length;
  int32_t tgid;
  bool readable;
};

struct session {
  fuzz_input in;
  mock_host_t *host = nullptr;
  std::vector<int> fds = {-1};
  std::vector<int32_t> owners = {1};  // of `fds`
  std::vector<uint64_t> handles = {0}, addresses = {0};
  std::vector<mapping_t> mappings;
  bool lasting =
      false;  // asked for what outlives its process: notification queues, a scrub's buffer

  int32_t tgid() { return 1 + in.u8() % 4; }
  template <typename T>
  T pick(const std::vector<T> &list) {
    return list[in.u8() % list.size()];
  }
  // Null, inside the arena, across its end, nothing mapped, or mapped device memory.
  uint64_t pointer() {
    uint8_t kind = in.u8();
    auto base = reinterpret_cast<uint64_t>(arena());
    if (kind % 8 == 0)
      return 0;
    if (kind % 8 == 1)
      return base + kArena;
    if (kind % 8 == 2)
      return base + kArena - 1 - kind / 8;
    if (kind % 8 == 3 && !mappings.empty())
      return reinterpret_cast<uint64_t>(mappings[kind / 8 % mappings.size()].va);
    return base + kArgument / 8 * 8 + kind * 64u;
  }
  // A number that means something, or any.
  uint64_t value() {
    uint8_t kind = in.u8();
    switch (kind % 8) {
      case 0:
        return pick(handles);
      case 1:
        return pick(addresses) + in.u8() * 256u;
      case 2:
        return in.u8();
      case 3:
        return uint64_t{1} << in.u8() % 64;
      case 4:
        return UINT64_MAX - in.u8();
      case 5:
        return in.u32();
      case 6:
        return uint64_t{in.u16()} << MOCK_PAGE_SHIFT;
      default:
        return in.u64();
    }
  }
  void note(uint64_t handle, int fd, int32_t pid);
  void add_fd(int fd, int32_t owner) {
    if (fd < 0)
      return;
    fds.push_back(fd);
    owners.push_back(owner);
  }
  template <typename Which>
  void forget_fds(Which which) {
    std::vector<int> open;
    std::vector<int32_t> of;
    for (size_t k = 0; k < fds.size(); k++) {
      if (k == 0 || !which(k)) {
        open.push_back(fds[k]);
        of.push_back(owners[k]);
      }
    }
    fds = std::move(open);
    owners = std::move(of);
  }
};

void session::note(uint64_t handle, int fd, int32_t pid) {
  handles.push_back(handle);
  uint64_t pa = 0;
  neuron_ioctl_mem_get_pa a = {handle, &pa};
  if (mock_ioctl(host, pid, fd, NEURON_IOCTL_MEM_GET_PA, &a) == 0)
    addresses.push_back(pa);
}

void step_open(session &s) {
  static const char *const paths[] = {"/dev/neuron0",
                                      "/dev/neuron1",
                                      "/sys/module/neuron/version",
                                      "/sys/class/neuron_device/neuron0/core_count",
                                      "/sys/class/neuron_device/neuron0/connected_devices",
                                      "/sys/class/dmi/id/product_name",
                                      "/dev/neuron00",
                                      "/dev/neuron99999999999999999999"};
  static const int flags[] = {O_RDWR, O_RDWR, O_RDWR, O_WRONLY, O_RDONLY, O_RDWR | O_CLOEXEC};
  uint8_t what = s.in.u8();
  int32_t pid = s.tgid();
  s.add_fd(mock_open(s.host, pid, paths[what % 16 < 8 ? 0 : what % 8], flags[what / 16 % 6]), pid);
}

// A process closes only what is in its own table; numbers come back for other files, so closed ones
// are forgotten.
void step_close(session &s) {
  size_t i = s.in.u8() % s.fds.size();
  (void)mock_close(s.host, s.owners[i], s.fds[i]);
  if (i != 0)
    s.forget_fds([&](size_t k) { return s.fds[k] == s.fds[i]; });
}

void step_read(session &s) {
  uint8_t buffer[256];
  size_t size = s.in.u8();
  ssize_t n = mock_read(s.host, s.tgid(), s.pick(s.fds), buffer, size);
  FUZZ_CHECK(n <= static_cast<ssize_t>(size), "{} bytes read, room for {}", n, size);
}

void step_map(session &s) {
  int32_t pid = s.tgid();
  int fd = s.pick(s.fds);
  uint64_t offset = s.value(), length = s.value();
  int prot = s.in.u8() & (PROT_READ | PROT_WRITE);
  void *va = nullptr;
  if (mock_mmap(s.host, pid, fd, offset, length, prot, &va) != 0)
    return;
  FUZZ_CHECK(va != nullptr, "mapped at null");
  s.mappings.push_back({static_cast<uint8_t *>(va), length, pid, (prot & PROT_READ) != 0});
}

void step_unmap(session &s) {
  if (s.mappings.empty())
    return;
  size_t i = s.in.u8() % s.mappings.size();
  mapping_t &m = s.mappings[i];
  uint64_t skip = s.in.u8() % 4 == 0 ? s.value() % (m.length + 1) : 0;
  if (mock_munmap(s.host, s.tgid(), m.va + skip, m.length - skip) == 0)
    s.mappings.erase(s.mappings.begin() + static_cast<ptrdiff_t>(i));
}

void step_exit(session &s) {
  int32_t pid = s.tgid();
  mock_process_exit(s.host, pid);
  s.forget_fds([&](size_t k) { return s.owners[k] == pid; });
  std::erase_if(s.mappings, [&](const mapping_t &m) { return m.tgid == pid; });
}

// An allocation that mostly succeeds.
void step_alloc(session &s) {
  int32_t pid = s.tgid();
  int fd = s.pick(s.fds);
  uint64_t handle = 0;
  neuron_ioctl_mem_alloc_v2_mem_type64 a = {};
  uint8_t kind = s.in.u8();
  a.size = kind % 4 == 0 ? s.value() : uint64_t{1} << s.in.u8() % 24;
  a.align = kind / 4 % 4 == 0 ? s.value() : 0;
  a.host_memory = kind / 16 % 4 == 0;
  a.dram_channel = kind / 64;
  a.nc_id = a.dram_channel * 2;
  a.mem_type = s.in.u8() % 32;
  a.mem_handle = &handle;
  if (mock_ioctl(s.host, pid, fd, NEURON_IOCTL_MEM_ALLOC_V2MT64, &a) == 0)
    s.note(handle, fd, pid);
}

// Bytes written to a chunk must come back.
void step_copy(session &s) {
  int32_t pid = s.tgid();
  int fd = s.pick(s.fds);
  uint8_t out[64], back[64] = {};
  memset(out, s.in.u8() | 1, sizeof(out));
  neuron_ioctl_mem_buf_copy64 a = {s.pick(s.handles), out, 1u + s.in.u8() % 64, s.in.u16(), 1};
  if (mock_ioctl(s.host, pid, fd, NEURON_IOCTL_MEM_BUF_COPY64, &a) != 0)
    return;
  a.buffer = back;
  a.copy_to_mem_handle = 0;
  long rc = mock_ioctl(s.host, pid, fd, NEURON_IOCTL_MEM_BUF_COPY64, &a);
  FUZZ_CHECK(rc == 0 && memcmp(out, back, a.size) == 0, "result {}, {} bytes", rc, a.size);
}

// Cuts a length that could succeed: no channel is longer than 4 GiB here.
void cut_length(const field_t &field, uint8_t *argument) {
  bool wide = field.request == NEURON_IOCTL_MEM_COPY64 ||
              field.request == NEURON_IOCTL_MEM_COPY_ASYNC64 ||
              field.request == NEURON_IOCTL_MEMSET64;
  uint64_t length = 0;
  memcpy(&length, argument + field.offset, wide ? 8 : 4);
  if (length > kLongCopy && length <= UINT32_MAX)
    length %= kLongCopy;
  memcpy(argument + field.offset, &length, wide ? 8 : 4);
}

void fill_argument(session &s, uint32_t request, uint8_t *argument) {
  memset(argument, 0, kArgument);
  uint8_t raw = s.in.u8() % 64;
  for (uint8_t i = 0; i < raw; i++)
    argument[i] = s.in.u8();
  for (uint8_t i = s.in.u8() % 8; i != 0; i--) {
    uint64_t value = s.value();
    size_t at = s.in.u8() % 24 * 4u;
    memcpy(argument + at, &value, s.in.u8() % 2 == 0 ? 8 : 4);
  }
  // By number: the driver chooses some forms by that alone.
  for (const field_t &field : kPointers) {
    if (((field.request ^ request) & 0xFF) != 0)
      continue;
    uint64_t value = s.pointer();
    memcpy(argument + field.offset, &value, sizeof(value));
  }
  for (const field_t &field : kLengths) {
    if (((field.request ^ request) & 0xFF) == 0)
      cut_length(field, argument);
  }
}

void step_request(session &s) {
  int32_t pid = s.tgid();
  int fd = s.pick(s.fds);
  uint8_t which = s.in.u8();
  uint32_t request = which < std::size(kRequests) ? kRequests[which].value : s.in.u32();
  s.lasting = s.lasting || (request & 0xFF) == (NEURON_IOCTL_NOTIFICATIONS_INIT_V1 & 0xFF) ||
              (request & 0xFF) == (NEURON_IOCTL_NOTIFICATIONS_INIT_V2 & 0xFF) ||
              (request & 0xFF) == (NEURON_IOCTL_NOTIFICATIONS_INIT_WITH_REALLOC_V2 & 0xFF) ||
              (request & 0xFF) == (NEURON_IOCTL_HBM_SCRUB_START & 0xFF);
  uint8_t *argument = arena();
  fill_argument(s, request, argument);
  uint8_t place = s.in.u8();
  if (place == 0xFF)
    argument = nullptr;
  else if (place >= 0xE0)  // its end is not there
    argument = static_cast<uint8_t *>(
        memmove(arena() + kArena - (place & 0x1F) * 4u, arena(), (place & 0x1F) * 4u));
  (void)mock_ioctl(s.host, pid, fd, request, argument);
  uint64_t handle = 0;
  if (request == NEURON_IOCTL_MEM_MC_GET_INFO_V2 && argument == arena()) {
    memcpy(&handle, argument + offsetof(neuron_ioctl_mem_get_mc_mmap_info_v2, mem_handle), 8);
    s.handles.push_back(handle);
  }
}

void step(session &s) {
  switch (s.in.u8() % STEP_COUNT) {
    case OPEN:
      return step_open(s);
    case CLOSE:
      return step_close(s);
    case DUP: {
      int32_t pid = s.tgid();  // another process's: inherited by a fork
      return s.add_fd(mock_dup(s.host, pid, s.pick(s.fds)), pid);
    }
    case READ:
      return step_read(s);
    case MAP:
      return step_map(s);
    case UNMAP:
      return step_unmap(s);
    case EXIT:
      return step_exit(s);
    case ALLOC:
      return step_alloc(s);
    case COPY:
      return step_copy(s);
    default:
      return step_request(s);
  }
}

// Memory is behind every page of what is mapped.
void look_at_mappings(const session &s) {
  for (const mapping_t &m : s.mappings) {
    if (!m.readable)
      continue;
    volatile const uint8_t *bytes = m.va;
    (void)bytes[0];
    (void)bytes[m.length - 1];
  }
}

int lowest_free_descriptor() {
  int fd = dup(STDERR_FILENO);
  close(fd);
  return fd;
}

// The mock keeps a scratch file for the thread from its first copy on.
bool make_scratch() {
  mock_host_t *host = nullptr;
  FUZZ_CHECK(mock_host_create(nullptr, &host) == 0, "no mocked machine");
  int fd = mock_open(host, 1, "/dev/neuron0", O_RDWR);
  neuron_ioctl_device_basic_info a = {};
  FUZZ_CHECK(mock_ioctl(host, 1, fd, NEURON_IOCTL_DEVICE_BASIC_INFO, &a) == 0, "first request");
  mock_host_destroy(host);
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const bool ready = make_scratch();
  (void)ready;
  int first_fd = lowest_free_descriptor();
  mock_dev_options_t options = {};
  session s;
  s.in.rest = {data, size};
  uint8_t machine = s.in.u8();
  options.instance = machine % 4 == 0 ? "trn1.2xlarge" : "trn2.3xlarge";
  options.hbm_size = (2ull << 30) + (64 << 20);
  options.poison = machine / 4 % 8 == 0;
  if (mock_host_create(&options, &s.host) != 0)
    return 0;
  mock_audit_t fresh = mock_audit(s.host);
  int fd = mock_open(s.host, 1, "/dev/neuron0", O_RDWR);
  FUZZ_CHECK(fd >= 0, "open: {}", fd);
  s.add_fd(fd, 1);
  for (uint32_t i = 0; i < kSteps && !s.in.empty(); i++)
    step(s);
  look_at_mappings(s);
  (void)mock_audit(s.host);
  for (int32_t pid = 1; pid <= 4; pid++) {
    // A process that used another's descriptor keeps its core locks until it closes one of its own
    // (mock-device-semantics.md 4).
    mock_close(s.host, pid, mock_open(s.host, pid, "/dev/neuron0", O_RDWR));
    mock_process_exit(s.host, pid);
    // Claims go with the close of a misc-lane descriptor only (mock-device-semantics.md 10).
    mock_close(s.host, pid, mock_open(s.host, pid, "/dev/neuron0", O_WRONLY));
  }
  mock_audit_idle(s.host);
  mock_audit_t idle = mock_audit(s.host);
  FUZZ_CHECK(idle.owned == 0 && (s.lasting || idle == fresh),
             "{} chunks ({} owned) and {} free pages, fresh: {} and {}", idle.chunks, idle.owned,
             idle.free_pages, fresh.chunks, fresh.free_pages);
  mock_host_destroy(s.host);
  // What DMABUF_FD gave out is the caller's.
  close_range(static_cast<unsigned>(first_fd), ~0u, 0);
  return 0;
}
