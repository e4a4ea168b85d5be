// SPDX-License-Identifier: Apache-2.0
// Mappings (uapi.md 8).
#include <unistd.h>

#include "tests/mock_dev/mock_fixture.h"

namespace {

constexpr uint64_t MIB = 1 << 20;
constexpr int RW = PROT_READ | PROT_WRITE;

int map_as(machine_t &m, int32_t tgid, int fd, uint64_t offset, uint64_t length, int prot,
           uint8_t **va) {
  void *at = nullptr;
  int rc = mock_mmap(m.host, tgid, fd, offset, length, prot, &at);
  *va = static_cast<uint8_t *>(at);
  return rc;
}

int map(machine_t &m, uint64_t offset, uint64_t length, int prot, uint8_t **va) {
  return map_as(m, PID, m.fd, offset, length, prot, va);
}

// The permissions of the mapping at an address, from the kernel's own list.
std::string permissions(const void *va) {
  FILE *f = fopen("/proc/self/maps", "r");
  char line[512];
  std::string found;
  while (f != nullptr && fgets(line, sizeof(line), f) != nullptr) {
    unsigned long from = 0, to = 0;
    char perms[8] = "";
    if (sscanf(line, "%lx-%lx %7s", &from, &to, perms) == 3 &&
        from <= reinterpret_cast<uintptr_t>(va) && reinterpret_cast<uintptr_t>(va) < to)
      found = perms;
  }
  if (f != nullptr)
    fclose(f);
  return found;
}

}  // namespace

TEST(Mmap, BothSidesSeeWrites) {
  machine_t m;
  for (bool host : {false, true}) {
    chunk_t c = alloc(m, {.size = MIB, .host = host});
    uint8_t *va;
    ASSERT_EQ(map(m, c.pa, MIB, RW, &va), 0);
    uint8_t out = 42, back = 0;
    ASSERT_EQ(buf_copy(m, c.handle, &out, 1000, 1, true), 0);
    EXPECT_EQ(va[1000], 42);
    va[2000] = 17;
    ASSERT_EQ(buf_copy(m, c.handle, &back, 2000, 1, false), 0);
    EXPECT_EQ(back, 17);
    if (!host) {
      EXPECT_EQ(static_cast<uint8_t *>(mock_dram(m.host, 0, c.pa, MIB))[2000], 17);
    }
    EXPECT_EQ(mock_munmap(m.host, PID, va, MIB), 0);
  }
}

TEST(Mmap, LengthMustBeTheChunks) {
  machine_t m;
  chunk_t c = alloc(m, {.size = MIB});
  chunk_t next = alloc(m, {.size = MIB});
  uint8_t *va;
  EXPECT_EQ(map(m, c.pa, MIB / 2, RW, &va), -EPERM);
  EXPECT_EQ(map(m, c.pa, MIB + 4096, RW, &va), -EPERM);
  EXPECT_EQ(map(m, c.pa, 2 * MIB, RW, &va), -EPERM);
  EXPECT_EQ(map(m, next.pa + MIB, MIB, RW, &va), -EPERM);  // nothing there
  EXPECT_EQ(map(m, c.pa, 0, RW, &va), -EINVAL);
  EXPECT_EQ(map(m, c.pa + 1, MIB, RW, &va), -EINVAL);
  // The kernel rounds lengths to pages first.
  EXPECT_EQ(map(m, c.pa, MIB - 4095, RW, &va), 0);
  EXPECT_EQ(mock_munmap(m.host, PID, va, MIB), 0);
  // An offset inside the chunk is moved to its start.
  uint8_t mark = 9;
  ASSERT_EQ(buf_copy(m, c.handle, &mark, 0, 1, true), 0);
  EXPECT_EQ(map(m, c.pa + 8192, MIB, RW, &va), 0);
  EXPECT_EQ(va[0], 9);
  EXPECT_EQ(mock_munmap(m.host, PID, va, MIB), 0);
}

TEST(Mmap, ScratchpadRunsToTheEndOfTheMainPool) {
  machine_t m;
  alloc_t page = {.size = 64 * MIB, .category = 19};
  chunk_t upper = alloc(m, page), lower = alloc(m, page);
  uint8_t *va;
  EXPECT_EQ(map(m, lower.pa, 128 * MIB + 4096, RW, &va), -EPERM);
  EXPECT_EQ(map(m, upper.pa, 128 * MIB, RW, &va), -EPERM);
  ASSERT_EQ(map(m, lower.pa, 4096, RW, &va), 0);  // shorter is fine too
  EXPECT_EQ(mock_munmap(m.host, PID, va, 4096), 0);
  ASSERT_EQ(map(m, lower.pa, 128 * MIB, RW, &va), 0);
  va[64 * MIB + 5] = 77;
  uint8_t back = 0;
  ASSERT_EQ(buf_copy(m, upper.handle, &back, 5, 1, false), 0);
  EXPECT_EQ(back, 77);
  EXPECT_EQ(mock_munmap(m.host, PID, va, 128 * MIB), 0);
  // Written through a mapping that ran past the chunk: still dropped when it goes.
  for (uint64_t h : {lower.handle, upper.handle})
    ASSERT_EQ(mem_free(m, h), 0);
  upper = alloc(m, page);
  ASSERT_EQ(buf_copy(m, upper.handle, &back, 5, 1, false), 0);
  EXPECT_EQ(back, 0);
}

TEST(Mmap, OtherProcessesReadOnly) {
  machine_t m;
  chunk_t c = alloc(m, {.size = MIB});
  int other = mock_open(m.host, PID + 1, "/dev/neuron0", O_RDWR);
  uint8_t *va;
  ASSERT_EQ(map_as(m, PID + 1, other, c.pa, MIB, RW, &va), 0);
  EXPECT_EQ(permissions(va), "r--s");
  EXPECT_EQ(mock_munmap(m.host, PID, va, MIB), -EINVAL);  // not the owner's mapping
  EXPECT_EQ(mock_munmap(m.host, PID + 1, va, MIB), 0);
  ASSERT_EQ(map(m, c.pa, MIB, RW, &va), 0);
  EXPECT_EQ(permissions(va), "rw-s");
  // Datastores have device lifetime: anybody writes.
  neuron_ioctl_neuron_ds_info ds = {};
  ASSERT_EQ(m.io(NEURON_IOCTL_ACQUIRE_NEURON_DS, &ds), 0);
  ASSERT_EQ(map_as(m, PID + 1, other, ds.mmap_offset, ds.size, RW, &va), 0);
  EXPECT_EQ(permissions(va), "rw-s");
}

TEST(Mmap, OpenModes) {
  machine_t m;
  chunk_t c = alloc(m, {.size = MIB});
  uint8_t *va;
  EXPECT_EQ(map_as(m, PID, m.misc, c.pa, MIB, PROT_READ, &va), -EACCES);
  int ro = mock_open(m.host, PID, "/dev/neuron0", O_RDONLY);
  EXPECT_EQ(map_as(m, PID, ro, c.pa, MIB, RW, &va), -EACCES);
  EXPECT_EQ(map_as(m, PID, ro, c.pa, MIB, PROT_READ, &va), 0);
  EXPECT_EQ(map_as(m, PID, -1, c.pa, MIB, PROT_READ, &va), -EBADF);
  int text = mock_open(m.host, PID, "/sys/module/neuron/version", O_RDONLY);
  EXPECT_EQ(map_as(m, PID, text, 0, 4096, PROT_READ, &va), -ENODEV);
}

// Another device's chunk is not found through this one.
TEST(Mmap, ChunksBelongToTheirDevice) {
  mock_dev_options_t o = {};
  o.instance = "inf2.24xlarge";
  o.hbm_size = 2048 * MIB;
  machine_t m(o);
  chunk_t c = alloc(m, {.size = MIB, .host = true});
  int second = mock_open(m.host, PID, "/dev/neuron1", O_RDWR);
  uint8_t *va;
  EXPECT_EQ(map_as(m, PID, second, c.pa, MIB, RW, &va), -EPERM);
  // The same device address on two devices is two memories.
  chunk_t a = alloc(m, {}), b = alloc_as(m.host, PID, second, {});
  ASSERT_EQ(a.pa, b.pa);
  uint8_t one = 1, back = 9;
  ASSERT_EQ(buf_copy(m, a.handle, &one, 0, 1, true), 0);
  neuron_ioctl_mem_buf_copy64 get = {b.handle, &back, 1, 0, 0};
  ASSERT_EQ(mock_ioctl(m.host, PID, second, NEURON_IOCTL_MEM_BUF_COPY64, &get), 0);
  EXPECT_EQ(back, 0);
}

TEST(Mmap, Munmap) {
  machine_t m;
  chunk_t c = alloc(m, {.size = MIB});
  uint8_t *va;
  ASSERT_EQ(map(m, c.pa, MIB, RW, &va), 0);
  EXPECT_EQ(mock_munmap(m.host, PID, va - 4096, 4096), -EINVAL);
  EXPECT_EQ(mock_munmap(m.host, PID, va, MIB + 4096), -EINVAL);
  EXPECT_EQ(mock_munmap(m.host, PID, va, 0), -EINVAL);
  EXPECT_EQ(mock_munmap(m.host, PID, va + 1, 4096), -EINVAL);
  // A hole: both sides go on, and can be unmapped later.
  EXPECT_EQ(mock_munmap(m.host, PID, va + 8192, 4096), 0);
  va[4096] = 1;
  va[12288] = 1;
  EXPECT_EQ(mock_munmap(m.host, PID, va + 8192, 4096), -EINVAL);
  EXPECT_EQ(mock_munmap(m.host, PID, va, 8192), 0);
  EXPECT_EQ(mock_munmap(m.host, PID, va + 12288, MIB - 12288), 0);
  EXPECT_EQ(permissions(va), "");
}

// Freed while mapped: the mapping stays and shows whatever comes to that place next.
TEST(Mmap, FreeWhileMapped) {
  machine_t m;
  chunk_t c = alloc(m, {.size = MIB});
  uint8_t *va;
  ASSERT_EQ(map(m, c.pa, MIB, RW, &va), 0);
  va[0] = 5;
  ASSERT_EQ(mem_free(m, c.handle), 0);
  EXPECT_EQ(va[0], 0);
  chunk_t d = alloc(m, {.size = MIB});
  ASSERT_EQ(d.pa, c.pa);
  uint8_t mark = 6;
  ASSERT_EQ(buf_copy(m, d.handle, &mark, 0, 1, true), 0);
  EXPECT_EQ(va[0], 6);
}

namespace {

struct special_t {
  uint32_t block, id, resource;
  uint64_t cookie, length;
  bool read_only;
};

void check_special(machine_t &m, const special_t &s) {
  neuron_ioctl_resource_mmap_info r = {};
  r.block = s.block;
  r.block_id = s.id;
  r.resource = s.resource;
  ASSERT_EQ(m.io(NEURON_IOCTL_RESOURCE_MMAP_INFO, &r), 0) << s.block << " " << s.id;
  EXPECT_EQ(r.offset, s.cookie);
  EXPECT_EQ(r.size, s.length);
  uint8_t *va;
  ASSERT_EQ(map(m, r.offset, r.size, RW, &va), 0) << std::hex << s.cookie;
  EXPECT_EQ(permissions(va), s.read_only ? "r--s" : "rw-s");
  EXPECT_EQ(mock_munmap(m.host, PID, va, r.size), 0);
  EXPECT_EQ(map(m, r.offset, r.size + 4096, RW, &va), -EPERM);
}

void check_absent(machine_t &m, uint32_t block, uint32_t id, uint32_t resource) {
  neuron_ioctl_resource_mmap_info r = {};
  r.block = block;
  r.block_id = id;
  r.resource = resource;
  EXPECT_EQ(m.io(NEURON_IOCTL_RESOURCE_MMAP_INFO, &r), -EINVAL)
      << block << " " << id << " " << resource;
}

}  // namespace

TEST(Special, TableV3) {
  machine_t m;
  for (uint32_t i = 0; i < 8; ++i) {
    uint64_t core = 0x2000000000 + i * 0x4000000ull;
    check_special(m, {0, i, 0, core + 0x2700000, 0x2000, false});
    check_special(m, {0, i, 2, core, 0x2000000, false});
    check_absent(m, 0, i, 1);
    check_absent(m, 0, i, 3);
  }
  for (uint32_t i = 0; i < 16; ++i) {
    uint64_t sp = (i < 8 ? 0x8280000000ull : 0x808280000000ull) + i % 8 * 0x40000000ull;
    check_special(m, {1, i, 0, sp, 0x2000, false});
    check_special(m, {1, i, 1, sp, 0x400000, true});
  }
  const uint64_t hbm[4] = {0, 0x4000000000, 0x800000000000, 0x804000000000};
  for (uint32_t i = 0; i < 4; ++i)
    check_special(m, {2, i, 3, hbm[i], 0x600000000, false});
  check_absent(m, 0, 8, 2);
  check_absent(m, 1, 16, 0);
  check_absent(m, 1, 0, 2);
  check_absent(m, 2, 4, 3);
  check_absent(m, 2, 0, 0);
  check_absent(m, 3, 0, 0);
}

TEST(Special, TableV2) {
  machine_t m("trn1.2xlarge");
  for (uint32_t i = 0; i < 2; ++i) {
    uint64_t core = 0xfffc0000000 + i * 0x4000000ull;
    check_special(m, {0, i, 0, core + 0x2700000, 0x2000, false});
    check_special(m, {0, i, 2, core, 0x2000000, false});
  }
  for (uint32_t i = 0; i < 6; ++i) {
    uint64_t sp = 0xfffd0000000 + i * 0x400000ull;
    check_special(m, {1, i, 0, sp, 0x2000, false});
    check_special(m, {1, i, 1, sp, 0x400000, true});
  }
  check_absent(m, 0, 2, 0);
  check_absent(m, 1, 6, 0);
  check_absent(m, 2, 0, 3);  // no HBM entry
}

// Offset 0 is in the firmware's chunk and the cookie of HBM 0: the length decides.
TEST(Special, Hbm0AgainstTheReservedChunk) {
  machine_t m;
  chunk_t c = alloc(m, {.size = MIB});
  uint8_t mark = 3;
  ASSERT_EQ(buf_copy(m, c.handle, &mark, 0, 1, true), 0);
  uint8_t *va;
  ASSERT_EQ(map(m, 0, 16 * MIB, RW, &va), 0);
  EXPECT_EQ(mock_munmap(m.host, PID, va, 16 * MIB), 0);
  ASSERT_EQ(map(m, 0, 0x600000000, RW, &va), 0);
  EXPECT_EQ(va[0x1000000], 3);
  EXPECT_EQ(mock_munmap(m.host, PID, va, 0x600000000), 0);
  EXPECT_EQ(map(m, 0, 4096, RW, &va), -EPERM);
}

// Cores do not share their windows.
TEST(Special, WindowsAreDistinct) {
  machine_t m;
  uint8_t *a, *b;
  ASSERT_EQ(map(m, 0x2000000000, 0x2000000, RW, &a), 0);
  ASSERT_EQ(map(m, 0x2004000000, 0x2000000, RW, &b), 0);
  a[0] = 1;
  b[0] = 2;
  EXPECT_EQ(a[0], 1);
  uint8_t *sem;
  ASSERT_EQ(map(m, 0x2002700000, 0x2000, RW, &sem), 0);
  EXPECT_EQ(sem[0], 0);
}
