// SPDX-License-Identifier: Apache-2.0
// Open, attach, close, duplicates, exit (uapi.md 2 and 10, mock-device-semantics.md 4), sysfs.
#include "tests/mock_dev/mock_fixture.h"

namespace {

std::string read_file(mock_host_t *host, const char *path) {
  int fd = mock_open(host, PID, path, O_RDONLY);
  EXPECT_GE(fd, 0) << path;
  std::string text;
  char piece[7];  // in small steps, as the position has to advance
  for (ssize_t n; (n = mock_read(host, PID, fd, piece, sizeof(piece))) > 0;)
    text.append(piece, static_cast<size_t>(n));
  EXPECT_EQ(mock_close(host, PID, fd), 0);
  return text;
}

uint32_t chunk_count(machine_t &m, uint32_t channel = 0) {
  neuron_ioctl_dump_mem_chunks a = {};
  a.hbm_index = channel;
  m.io(NEURON_IOCTL_DUMP_MEM_CHUNKS, &a);
  return a.num_entries_out;
}

// The argument of DEVICE_GET_ALL_APPS_INFO: a head and the entries right behind it.
struct apps_t {
  alignas(8) uint8_t raw[sizeof(neuron_ioctl_get_apps_info) + 4 * sizeof(neuron_app_info)] = {};
  neuron_ioctl_get_apps_info &head() {
    return *reinterpret_cast<neuron_ioctl_get_apps_info *>(raw);
  }
  neuron_app_info &app(int i) {
    return reinterpret_cast<neuron_app_info *>(raw + sizeof(neuron_ioctl_get_apps_info))[i];
  }
  long get(machine_t &m, uint16_t flags, uint32_t capacity) {
    head().apps_info_flags = flags;
    head().capacity = capacity;
    return m.io(NEURON_IOCTL_DEVICE_GET_ALL_APPS_INFO, raw);
  }
};

long gated(machine_t &m, int32_t tgid, int fd) {
  neuron_ioctl_mem_free a = {0};
  return mock_ioctl(m.host, tgid, fd, NEURON_IOCTL_MEM_FREE, &a);  // EINVAL when attached
}

}  // namespace

TEST(Open, Paths) {
  machine_t m("inf2.24xlarge");
  for (const char *path :
       {"/dev/neuron6", "/dev/neuron", "/dev/neuron00", "/dev/neuron0x", "/dev/neuron-1",
        "/dev/neuron99999999999999999999", "/dev/null", "", "/sys/class/neuron_device/neuron0",
        "/sys/class/neuron_device/neuron6/core_count", "/sys/class/neuron_device/neuron0/other"})
    EXPECT_EQ(mock_open(m.host, PID, path, O_RDONLY), -ENOENT) << path;
  EXPECT_EQ(mock_open(m.host, PID, nullptr, O_RDONLY), -EFAULT);
  EXPECT_GE(mock_open(m.host, PID, "/dev/neuron5", O_RDWR), 0);
  EXPECT_EQ(mock_open(m.host, PID, "/sys/module/neuron/version", O_RDWR), -EACCES);
  char c;
  EXPECT_EQ(mock_read(m.host, PID, m.fd, &c, 1), -EINVAL);
  EXPECT_EQ(mock_read(m.host, PID, -1, &c, 1), -EBADF);
}

TEST(Open, SysfsTexts) {
  mock_dev_options_t o = {};
  o.driver_version = "2.20.1.0";
  machine_t m(o);
  EXPECT_EQ(read_file(m.host, "/sys/module/neuron/version"), "2.20.1.0\n");
  EXPECT_EQ(read_file(m.host, "/sys/class/dmi/id/product_name"), "trn2.3xlarge\n");
  EXPECT_EQ(read_file(m.host, "/sys/class/neuron_device/neuron0/core_count"), "8");
  EXPECT_EQ(read_file(m.host, "/sys/class/neuron_device/neuron0/connected_devices"), "\n");
  machine_t big("trn2.48xlarge");
  EXPECT_EQ(read_file(big.host, "/sys/module/neuron/version"), "2.24.7.0\n");
  EXPECT_EQ(read_file(big.host, "/sys/class/neuron_device/neuron13/connected_devices"),
            "12, 1, 9, 14\n");
}

TEST(Open, SixteenSlots) {
  machine_t m;  // PID holds one
  std::vector<int> fds;
  for (int i = 1; i < 16; ++i) {
    fds.push_back(mock_open(m.host, PID + i, "/dev/neuron0", O_RDWR));
    ASSERT_GE(fds.back(), 0);
  }
  EXPECT_EQ(mock_open(m.host, PID + 16, "/dev/neuron0", O_RDWR), -EBUSY);
  EXPECT_GE(mock_open(m.host, PID + 3, "/dev/neuron0", O_RDWR), 0);     // has its slot already
  EXPECT_GE(mock_open(m.host, PID + 16, "/dev/neuron0", O_WRONLY), 0);  // does not attach
  EXPECT_EQ(mock_close(m.host, PID + 1, fds[0]), 0);
  EXPECT_GE(mock_open(m.host, PID + 16, "/dev/neuron0", O_RDONLY), 0);  // attaches too
  EXPECT_EQ(mock_open(m.host, PID + 1, "/dev/neuron0", O_RDWR), -EBUSY);
}

TEST(Close, LastOneCleansUp) {
  machine_t m;
  int b = mock_open(m.host, PID + 1, "/dev/neuron0", O_RDWR);
  int b2 = mock_open(m.host, PID + 1, "/dev/neuron0", O_RDWR);
  chunk_t mine = alloc(m, {});
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(alloc_as(m.host, PID + 1, b, {.size = 1 << 20}).rc, 0);
  chunk_t host = alloc_as(m.host, PID + 1, b, {.host = true});
  EXPECT_EQ(chunk_count(m), 7u);
  EXPECT_EQ(mock_close(m.host, PID + 1, b), 0);
  EXPECT_EQ(chunk_count(m), 7u);  // the process still has one open
  EXPECT_EQ(mock_close(m.host, PID + 1, b2), 0);
  EXPECT_EQ(chunk_count(m), 2u);  // the firmware's and ours
  neuron_ioctl_mem_get_extended_info x = {};
  x.mem_handle = host.handle;
  EXPECT_EQ(m.io(NEURON_IOCTL_MEM_GET_EXTENDED_INFO, &x), 22);
  x.mem_handle = mine.handle;
  EXPECT_EQ(m.io(NEURON_IOCTL_MEM_GET_EXTENDED_INFO, &x), 0);
  EXPECT_EQ(mock_close(m.host, PID + 1, b), -EBADF);
}

// A duplicate's close counts like any other although dup does not: one close too early detaches.
TEST(Close, DuplicateDetaches) {
  machine_t m;
  int watch = mock_open(m.host, PID + 1, "/dev/neuron0", O_RDWR);
  int copy = mock_dup(m.host, PID, m.fd);
  ASSERT_GE(copy, 0);
  EXPECT_EQ(alloc(m, {}).rc, 0);
  EXPECT_EQ(mock_close(m.host, PID, copy), 0);
  EXPECT_EQ(gated(m, PID, m.fd), -EACCES);
  neuron_ioctl_dump_mem_chunks a = {};
  EXPECT_EQ(mock_ioctl(m.host, PID + 1, watch, NEURON_IOCTL_DUMP_MEM_CHUNKS, &a), -EAGAIN);
  EXPECT_EQ(a.num_entries_out, 1u);                       // the chunk went with it
  EXPECT_EQ(m.io(NEURON_IOCTL_DEVICE_INIT, nullptr), 0);  // the descriptor itself still works
  EXPECT_EQ(mock_dup(m.host, PID, -5), -EBADF);
}

// A child has the descriptor but another tgid: not attached, and its close disturbs nobody.
TEST(Close, ForkedChild) {
  machine_t m;
  int inherited = mock_dup(m.host, PID + 1, m.fd);
  chunk_t c = alloc(m, {});
  EXPECT_EQ(gated(m, PID + 1, inherited), -EACCES);
  uint64_t handle;
  EXPECT_EQ(alloc_raw(m.host, PID + 1, inherited, {}, &handle), -EACCES);
  uint8_t byte = 7;
  neuron_ioctl_mem_buf_copy64 copy = {c.handle, &byte, 1, 0, 1};  // ungated
  EXPECT_EQ(mock_ioctl(m.host, PID + 1, inherited, NEURON_IOCTL_MEM_BUF_COPY64, &copy), 0);
  EXPECT_EQ(mock_close(m.host, PID + 1, inherited), 0);
  EXPECT_EQ(gated(m, PID, m.fd), -EINVAL);
  EXPECT_EQ(chunk_count(m), 2u);
}

TEST(Close, ExitClosesEverything) {
  machine_t m;
  int32_t child = PID + 1;
  int a = mock_open(m.host, child, "/dev/neuron0", O_RDWR);
  int b = mock_open(m.host, child, "/dev/neuron0", O_RDWR);
  int misc = mock_open(m.host, child, "/dev/neuron0", O_WRONLY);
  chunk_t c = alloc_as(m.host, child, a, {.size = 1 << 20});
  void *va;
  ASSERT_EQ(mock_mmap(m.host, child, a, c.pa, 1 << 20, PROT_READ, &va), 0);
  neuron_ioctl_crwl_nc_map claim = {2, 0, 7, 0, 0};
  ASSERT_EQ(mock_ioctl(m.host, child, misc, NEURON_IOCTL_CRWL_NC_RANGE_MARK, &claim), 0);
  mock_process_exit(m.host, child);
  for (int fd : {a, b, misc})
    EXPECT_EQ(mock_close(m.host, child, fd), -EBADF);
  EXPECT_EQ(chunk_count(m), 1u);
  EXPECT_EQ(mock_munmap(m.host, child, va, 1 << 20), -EINVAL);
  claim = {8, 0, 7, 0, 0};
  EXPECT_EQ(m.io_misc(NEURON_IOCTL_CRWL_NC_RANGE_MARK, &claim), 0);  // all cores are free again
  EXPECT_EQ(gated(m, PID, m.fd), -EINVAL);
}

// Misc lane: any close drops the claims of the process on all devices.
TEST(Close, MiscDropsClaims) {
  machine_t m("trn2.48xlarge");
  int other = mock_open(m.host, PID, "/dev/neuron7", O_WRONLY);
  neuron_ioctl_crwl_nc_map claim = {4, 0, 7, 0, 0};
  ASSERT_EQ(m.io_misc(NEURON_IOCTL_CRWL_NC_RANGE_MARK, &claim), 0);
  ASSERT_EQ(mock_close(m.host, PID, other), 0);
  claim = {8, 0, 7, 0, 0};
  EXPECT_EQ(m.io_misc(NEURON_IOCTL_CRWL_NC_RANGE_MARK, &claim), 0);
  // A device-lane close keeps them, and so does another process's misc close.
  int theirs = mock_open(m.host, PID + 1, "/dev/neuron0", O_WRONLY);
  ASSERT_EQ(mock_close(m.host, PID + 1, theirs), 0);
  ASSERT_EQ(mock_close(m.host, PID, m.fd), 0);
  claim = {1, 0, 7, 0, 0};
  EXPECT_EQ(m.io_misc(NEURON_IOCTL_CRWL_NC_RANGE_MARK, &claim), -EBUSY);
}

TEST(Apps, ListAndMemory) {
  machine_t m;
  int b = mock_open(m.host, PID + 1, "/dev/neuron0", O_RDWR);
  alloc(m, {.size = 5000});
  chunk_t h = alloc(m, {.size = 100, .host = true});
  apps_t a;
  ASSERT_EQ(a.get(m, 2, 4), 0);
  ASSERT_EQ(a.head().size, 2u);
  EXPECT_EQ(a.app(0).pid, PID);
  EXPECT_EQ(a.app(0).device_mem_size, 8192u);
  EXPECT_EQ(a.app(0).host_mem_size, 4096u);
  EXPECT_EQ(a.app(1).pid, PID + 1);
  EXPECT_EQ(a.app(1).device_mem_size, 0u);
  // A free is booked on the process that frees: its own figure stops at 0, the owner's stays.
  neuron_ioctl_mem_free f = {h.handle};
  ASSERT_EQ(mock_ioctl(m.host, PID + 1, b, NEURON_IOCTL_MEM_FREE, &f), 0);
  a.app(1).pid = 0;
  ASSERT_EQ(a.get(m, 2, 1), 0);
  EXPECT_EQ(a.head().size, 1u);
  EXPECT_EQ(a.app(0).host_mem_size, 4096u);
  EXPECT_EQ(a.app(1).pid, 0);
  ASSERT_EQ(a.get(m, 0, 1), 0);
  EXPECT_EQ(a.app(0).host_mem_size, 0u);
  EXPECT_EQ(a.get(m, 0, UINT32_MAX), -ENOMEM);
  int32_t pid = 0;
  EXPECT_EQ(m.io(NEURON_IOCTL_DEVICE_APP_PID, &pid), 0);
  EXPECT_EQ(pid, PID);
  EXPECT_EQ(mock_close(m.host, PID, m.fd), 0);
  EXPECT_EQ(mock_ioctl(m.host, PID + 1, b, NEURON_IOCTL_DEVICE_APP_PID, &pid), 0);
  EXPECT_EQ(pid, 0);  // slot 0 is free
}

TEST(Apps, Locks) {
  machine_t m;
  neuron_ioctl_crwl l = {};
  l.nc_id = 2;
  l.uuid.value[31] = 0x5a;
  ASSERT_EQ(m.io(NEURON_IOCTL_CRWL_WRITER_ENTER, &l), 0);
  apps_t a;
  ASSERT_EQ(a.get(m, 1, 1), 0);
  EXPECT_EQ(a.app(0).nc_lock_map, 4);
  EXPECT_EQ(a.app(0).uuid_data[2].value[31], 0x5a);
  EXPECT_EQ(a.app(0).host_mem_size, 0u);
}

TEST(Datastore, AcquireReleaseAndClose) {
  machine_t m;
  int b = mock_open(m.host, PID + 1, "/dev/neuron0", O_RDWR);
  auto as = [&](int32_t tgid, int fd, int32_t pid, neuron_ioctl_neuron_ds_info *ds) {
    *ds = {};
    ds->pid = pid;
    return mock_ioctl(m.host, tgid, fd, NEURON_IOCTL_ACQUIRE_NEURON_DS, ds);
  };
  neuron_ioctl_neuron_ds_info mine, again, theirs;
  EXPECT_EQ(as(PID + 1, b, PID, &theirs), -ENOENT);
  ASSERT_EQ(as(PID, m.fd, 0, &mine), 0);
  EXPECT_EQ(mine.size, 262144u);
  ASSERT_EQ(as(PID, m.fd, 0, &again), 0);
  EXPECT_EQ(again.mmap_offset, mine.mmap_offset);
  ASSERT_EQ(as(PID + 1, b, PID, &theirs), 0);  // another process's, by its pid
  EXPECT_EQ(theirs.mmap_offset, mine.mmap_offset);
  ASSERT_EQ(as(PID + 1, b, 0, &theirs), 0);
  EXPECT_NE(theirs.mmap_offset, mine.mmap_offset);

  void *va;
  ASSERT_EQ(mock_mmap(m.host, PID, m.fd, mine.mmap_offset, mine.size, PROT_READ | PROT_WRITE, &va),
            0);
  auto *bytes = static_cast<uint8_t *>(va);
  bytes[100] = 1;
  theirs.pid = PID;  // not the owner: nothing happens
  EXPECT_EQ(mock_ioctl(m.host, PID + 1, b, NEURON_IOCTL_RELEASE_NEURON_DS, &theirs), 0);
  EXPECT_EQ(bytes[100], 1);
  neuron_ioctl_neuron_ds_info self = {};
  EXPECT_EQ(m.io(NEURON_IOCTL_RELEASE_NEURON_DS, &self), 0);
  EXPECT_EQ(bytes[100], 0);
  EXPECT_EQ(m.io(NEURON_IOCTL_RELEASE_NEURON_DS, &self), 0);  // none: silently fine
  EXPECT_EQ(as(PID + 1, b, PID, &theirs), -ENOENT);

  // 16 stores; never used ones first, then the one given back longest ago.
  ASSERT_EQ(as(PID, m.fd, 0, &again), 0);
  EXPECT_NE(again.mmap_offset, mine.mmap_offset);
  // A child may ask through an inherited descriptor: not gated.
  for (int i = 2; i < 15; ++i)
    ASSERT_EQ(as(PID + i, m.fd, 0, &theirs), 0);
  ASSERT_EQ(as(PID + 15, m.fd, 0, &theirs), 0);  // only the one given back is left
  EXPECT_EQ(theirs.mmap_offset, mine.mmap_offset);
  EXPECT_EQ(as(PID + 16, m.fd, 0, &theirs), -ENOMEM);
  // The last close of the process gives its store back.
  ASSERT_EQ(mock_close(m.host, PID + 1, b), 0);
  EXPECT_EQ(as(PID + 16, m.fd, 0, &theirs), 0);
}

TEST(Datastore, LastCloseOfTheDeviceClearsAll) {
  machine_t m;
  neuron_ioctl_neuron_ds_info ds = {};
  ASSERT_EQ(mock_ioctl(m.host, PID + 5, m.fd, NEURON_IOCTL_ACQUIRE_NEURON_DS, &ds), 0);
  ASSERT_EQ(mock_close(m.host, PID, m.fd), 0);
  int fd = mock_open(m.host, PID, "/dev/neuron0", O_RDWR);
  ds.pid = PID + 5;
  EXPECT_EQ(mock_ioctl(m.host, PID, fd, NEURON_IOCTL_ACQUIRE_NEURON_DS, &ds), -ENOENT);
}
