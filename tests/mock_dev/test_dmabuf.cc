// SPDX-License-Identifier: Apache-2.0
// DMABUF_FD (mock-device-semantics.md 14).
#include "mock_dev/dmabuf.h"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/mock_dev/mock_fixture.h"

namespace {

long dmabuf_as(machine_t &m, int32_t tgid, int fd, const void *va, uint64_t size, int32_t *out) {
  neuron_ioctl_dmabuf_fd a = {reinterpret_cast<uint64_t>(va), size, out};
  return mock_ioctl(m.host, tgid, fd, NEURON_IOCTL_DMABUF_FD, &a);
}

uint8_t *map(machine_t &m, int32_t tgid, int fd, uint64_t offset, uint64_t length) {
  void *va = nullptr;
  EXPECT_EQ(mock_mmap(m.host, tgid, fd, offset, length, PROT_READ | PROT_WRITE, &va), 0);
  return static_cast<uint8_t *>(va);
}

struct fd_t {
  int32_t fd = -1;
  ~fd_t() {
    if (fd >= 0)
      close(fd);
  }
};

}  // namespace

TEST(Dmabuf, NamesTheAddress) {
  machine_t m;
  chunk_t c = alloc(m, {.size = 1 << 20});
  uint8_t *va = map(m, PID, m.fd, c.pa, 1 << 20);
  fd_t f;
  ASSERT_EQ(dmabuf_as(m, PID, m.fd, va + 8192, 4096, &f.fd), 0);
  EXPECT_EQ(fcntl(f.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  struct stat s;
  ASSERT_EQ(fstat(f.fd, &s), 0);
  EXPECT_EQ(s.st_size, 4096);
  mock_dmabuf_t info = {};
  ASSERT_EQ(mock_dmabuf_info(f.fd, &info), 0);
  EXPECT_EQ(info.device, 0u);
  EXPECT_EQ(info.pa, c.pa + 8192);
  EXPECT_EQ(info.size, 4096u);
  // Sealed: nobody takes it for device memory.
  EXPECT_EQ(pwrite(f.fd, "x", 1, 0), -1);
  EXPECT_EQ(ftruncate(f.fd, 0), -1);
  EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, f.fd, 0), MAP_FAILED);
  // The size is not checked.
  fd_t huge;
  ASSERT_EQ(dmabuf_as(m, PID, m.fd, va, UINT64_MAX, &huge.fd), 0);
  ASSERT_EQ(mock_dmabuf_info(huge.fd, &info), 0);
  EXPECT_EQ(info.size, UINT64_MAX);
  fd_t zero;
  ASSERT_EQ(dmabuf_as(m, PID, m.fd, va, 0, &zero.fd), 0);
  EXPECT_NE(zero.fd, f.fd);
}

TEST(Dmabuf, OtherDescriptorsAreNone) {
  mock_dmabuf_t info;
  EXPECT_EQ(mock_dmabuf_info(-1, &info), -EBADF);
  EXPECT_EQ(mock_dmabuf_info(STDIN_FILENO, &info), -EBADF);
  fd_t f;
  f.fd = memfd_create("neuron-dmabuf:1:2", MFD_CLOEXEC);
  EXPECT_EQ(mock_dmabuf_info(f.fd, &info), -EBADF);
}

TEST(Dmabuf, HostMemoryAndRegisters) {
  for (const char *name : {"trn1.2xlarge", "trn2.3xlarge"}) {
    machine_t m(name);
    bool v2 = strcmp(name, "trn1.2xlarge") == 0;
    chunk_t h = alloc(m, {.size = 8192, .host = true});
    fd_t f;
    ASSERT_EQ(dmabuf_as(m, PID, m.fd, map(m, PID, m.fd, h.pa, 8192), 8192, &f.fd), 0);
    mock_dmabuf_t info;
    ASSERT_EQ(mock_dmabuf_info(f.fd, &info), 0);
    EXPECT_EQ(info.pa, h.pa);
    // Core 1's SBUF and semaphores: cookies of uapi.md 8, real addresses of section 2.3.
    uint64_t cookie = (v2 ? 0xfffc0000000 : 0x2000000000) + 0x4000000;
    uint64_t core1 = v2 ? 0xfffc4000000 : 0x3000000000;
    fd_t sbuf, semaphores, top_sp;
    ASSERT_EQ(dmabuf_as(m, PID, m.fd, map(m, PID, m.fd, cookie, 0x2000000) + 64, 64, &sbuf.fd), 0);
    ASSERT_EQ(mock_dmabuf_info(sbuf.fd, &info), 0);
    EXPECT_EQ(info.pa, core1 + 64);
    ASSERT_EQ(
        dmabuf_as(m, PID, m.fd, map(m, PID, m.fd, cookie + 0x2700000, 0x2000), 64, &semaphores.fd),
        0);
    ASSERT_EQ(mock_dmabuf_info(semaphores.fd, &info), 0);
    EXPECT_EQ(info.pa, core1 + (v2 ? 0x2700000 : 0x802700000));
    uint64_t sp2 = v2 ? 0xfffd0800000 : 0x8300000000;
    ASSERT_EQ(dmabuf_as(m, PID, m.fd, map(m, PID, m.fd, sp2, 0x2000), 64, &top_sp.fd), 0);
    ASSERT_EQ(mock_dmabuf_info(top_sp.fd, &info), 0);
    EXPECT_EQ(info.pa, sp2);
  }
}

TEST(Dmabuf, OnlyTrackedMappingsOfTheCaller) {
  machine_t m;
  chunk_t c = alloc(m, {.size = 16384});
  uint8_t *va = map(m, PID, m.fd, c.pa, 16384);
  int32_t fd = -1;
  EXPECT_EQ(dmabuf_as(m, PID, m.fd, va - 1, 1, &fd), -EINVAL);
  EXPECT_EQ(dmabuf_as(m, PID, m.fd, va + 16384, 1, &fd), -EINVAL);
  EXPECT_EQ(dmabuf_as(m, PID, m.fd, &fd, 1, &fd), -EINVAL);
  EXPECT_EQ(dmabuf_as(m, PID + 1, m.fd, va, 1, &fd), -EINVAL);
  int other = mock_open(m.host, PID + 1, "/dev/neuron0", O_RDWR);
  EXPECT_EQ(dmabuf_as(m, PID + 1, other, va, 1, &fd), -EINVAL);  // attached, not its mapping
  EXPECT_EQ(fd, -1);
  // The misc lane will do.
  fd_t f;
  EXPECT_EQ(dmabuf_as(m, PID, m.misc, va + 16383, 1, &f.fd), 0);
}

TEST(Dmabuf, AnyDevice) {
  machine_t m("trn2.48xlarge");
  int third = mock_open(m.host, PID, "/dev/neuron3", O_RDWR);
  chunk_t c = alloc_as(m.host, PID, third, {.size = 4096, .channel = 2});
  uint8_t *va = map(m, PID, third, c.pa, 4096);
  fd_t f;
  ASSERT_EQ(dmabuf_as(m, PID, m.fd, va, 4096, &f.fd), 0);  // asked on device 0
  mock_dmabuf_t info;
  ASSERT_EQ(mock_dmabuf_info(f.fd, &info), 0);
  EXPECT_EQ(info.device, 3u);
  EXPECT_EQ(info.pa, c.pa);
  // Detached from device 3: its records are gone, the mapping is not.
  ASSERT_EQ(mock_close(m.host, PID, third), 0);
  int32_t none = -1;
  EXPECT_EQ(dmabuf_as(m, PID, m.fd, va, 4096, &none), -EINVAL);
  va[0] = 1;
}

TEST(Dmabuf, UnmappingAPartKeepsTheRecord) {
  machine_t m;
  chunk_t c = alloc(m, {.size = 16384});
  uint8_t *va = map(m, PID, m.fd, c.pa, 16384);
  ASSERT_EQ(mock_munmap(m.host, PID, va, 4096), 0);
  fd_t f;
  EXPECT_EQ(dmabuf_as(m, PID, m.fd, va, 1, &f.fd), 0);
  // Whole at once: gone.
  chunk_t d = alloc(m, {.size = 16384});
  uint8_t *whole = map(m, PID, m.fd, d.pa, 16384);
  ASSERT_EQ(mock_munmap(m.host, PID, whole, 16384), 0);
  int32_t none = -1;
  EXPECT_EQ(dmabuf_as(m, PID, m.fd, whole + 8192, 1, &none), -EINVAL);
}

TEST(Dmabuf, DescriptorThatCannotBeStored) {
  machine_t m;
  chunk_t c = alloc(m, {});
  uint8_t *va = map(m, PID, m.fd, c.pa, 4096);
  int before = dup(STDOUT_FILENO);
  close(before);
  EXPECT_EQ(dmabuf_as(m, PID, m.fd, va, 4096, nullptr), 4);
  int after = dup(STDOUT_FILENO);
  close(after);
  EXPECT_EQ(before, after);  // nothing stayed open
}
