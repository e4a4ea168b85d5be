// SPDX-License-Identifier: Apache-2.0
// Section 14: dma-buf descriptors.
#include <fcntl.h>
#include <unistd.h>

#include "tests/conformance/memory.h"

CONFORMANCE_SUITE(S14_Dmabuf, V2_AND_V3);

namespace {

struct dmabuf_t {
  long rc;
  int32_t fd;
};

dmabuf_t export_fd(const fd_t &fd, const void *va, uint64_t size) {
  dmabuf_t out = {0, -7};
  neuron_ioctl_dmabuf_fd arg = {};
  arg.va = reinterpret_cast<uint64_t>(va);
  arg.size = size;
  arg.fd = &out.fd;
  out.rc = fd.io(NEURON_IOCTL_DMABUF_FD, &arg);
  return out;
}

// A mapped chunk of this process.
struct mapped_t {
  fd_t fd;
  chunk_t chunk;
  uint64_t size;
  uint8_t *va = nullptr;
  mapped_t(const fd_t &f, uint64_t bytes, bool host) : fd(f), size(bytes) {
    chunk = alloc(f, {.size = bytes, .host = host});
    void *where = nullptr;
    EXPECT_EQ(f.map(chunk.pa, bytes, PROT_READ | PROT_WRITE, &where), 0);
    va = static_cast<uint8_t *>(where);
  }
  void drop() {
    if (va != nullptr) {
      EXPECT_EQ(fd.unmap(va, size), 0);
    }
    va = nullptr;
  }
  ~mapped_t() { drop(); }
};

}  // namespace

TEST_P(S14_Dmabuf, Fd_InsideAMapping) {
  for (bool host : {false, true}) {
    mapped_t m(dev, 4 * PAGE, host);
    for (uint64_t at : {uint64_t{0}, PAGE, 4 * PAGE - 1}) {
      dmabuf_t d = export_fd(dev, m.va + at, PAGE);
      EXPECT_EQ(d.rc, 0);
      ASSERT_GE(d.fd, 0);
      EXPECT_NE(fcntl(d.fd, F_GETFD) & FD_CLOEXEC, 0);
      EXPECT_EQ(::close(d.fd), 0);
    }
  }
}

TEST_P(S14_Dmabuf, Fd_EachIsNew) {
  mapped_t m(dev, PAGE, false);
  dmabuf_t a = export_fd(dev, m.va, PAGE), b = export_fd(dev, m.va, PAGE);
  EXPECT_NE(a.fd, b.fd);
  EXPECT_EQ(::close(a.fd), 0);
  EXPECT_EQ(::close(b.fd), 0);
}

TEST_P(S14_Dmabuf, Fd_SizeIsNotChecked) {
  mapped_t m(dev, PAGE, false);
  dmabuf_t d = export_fd(dev, m.va, 16 * PAGE);
  EXPECT_EQ(d.rc, 0);
  EXPECT_EQ(::close(d.fd), 0);
}

TEST_P(S14_Dmabuf, Fd_OutsideMappings) {
  mapped_t m(dev, PAGE, false);
  std::vector<uint8_t> ours(PAGE);
  EXPECT_EQ(export_fd(dev, ours.data(), PAGE).rc, -EINVAL);
  EXPECT_EQ(export_fd(dev, nullptr, PAGE).rc, -EINVAL);
  dmabuf_t d = export_fd(dev, m.va + PAGE, PAGE);
  EXPECT_EQ(d.rc, -EINVAL);
  EXPECT_EQ(d.fd, -7);  // nothing stored
  const uint8_t *gone = m.va;
  m.drop();
  EXPECT_EQ(export_fd(dev, gone, PAGE).rc, -EINVAL);
}

TEST_P(S14_Dmabuf, Fd_OtherProcessesMappings) {
  NEEDS_BACKSTAGE();
  mapped_t m(dev, PAGE, false);
  EXPECT_EQ(export_fd(open(OTHER), m.va, PAGE).rc, -EINVAL);
  // A forked child is attached to nothing.
  EXPECT_EQ(export_fd(inherited(dev, THIRD), m.va, PAGE).rc, -EINVAL);
}

// The mapping is looked for on every device the caller is attached to, so any descriptor will do.
TEST_P(S14_Dmabuf, Fd_MiscLane) {
  mapped_t m(dev, PAGE, false);
  dmabuf_t d = export_fd(misc, m.va, PAGE);
  EXPECT_EQ(d.rc, 0);
  EXPECT_EQ(::close(d.fd), 0);
}

TEST_P(S14_Dmabuf, Fd_SpecialMapping) {
  neuron_ioctl_resource_mmap_info arg = {};
  arg.block = NEURON_MMAP_BLOCK_TPB;
  arg.resource = NEURON_MMAP_RESOURCE_SBUF;
  ASSERT_EQ(io(NEURON_IOCTL_RESOURCE_MMAP_INFO, &arg), 0);
  void *va = nullptr;
  ASSERT_EQ(dev.map(arg.offset, arg.size, PROT_READ | PROT_WRITE, &va), 0);
  dmabuf_t d = export_fd(dev, va, PAGE);
  EXPECT_EQ(d.rc, 0);
  EXPECT_EQ(::close(d.fd), 0);
  EXPECT_EQ(dev.unmap(va, arg.size), 0);
}

TEST_P(S14_Dmabuf, Fd_CannotBeStored) {
  mapped_t m(dev, PAGE, false);
  hole_t hole;
  neuron_ioctl_dmabuf_fd arg = {};
  arg.va = reinterpret_cast<uint64_t>(m.va);
  arg.size = PAGE;
  arg.fd = reinterpret_cast<int32_t *>(hole.hole());
  EXPECT_EQ(io(NEURON_IOCTL_DMABUF_FD, &arg), 4);
  // The mapping is looked up first.
  arg.va = 0;
  EXPECT_EQ(io(NEURON_IOCTL_DMABUF_FD, &arg), -EINVAL);
}

// Section 4, close 8: mapping records go with the last close.
TEST_P(S14_Dmabuf, Close_DropsTheRecords) {
  mapped_t m(dev, PAGE, true);
  EXPECT_EQ(dev.close(), 0);
  dev = open(SELF);
  EXPECT_EQ(export_fd(dev, m.va, PAGE).rc, -EINVAL);
  m.fd = dev;
}
