// SPDX-License-Identifier: Apache-2.0
// Section 5.2: the checks of MEM_ALLOC, MEM_ALLOC_V2, V2MT and V2MT64, in their order.
#include <unistd.h>

#include "tests/conformance/memory.h"

CONFORMANCE_SUITE(S5_2_Alloc, V2_AND_V3);

namespace {

constexpr uint32_t CONTIGUOUS = NEURON_MEM_CONTIGUOUS_SCRATCHPAD_DEVICE;
constexpr uint64_t TOO_LARGE = 1ull << 63;

// The four forms of one request; the older ones leave fields out.
const std::vector<uint32_t> FORMS = {NEURON_IOCTL_MEM_ALLOC, NEURON_IOCTL_MEM_ALLOC_V2,
                                     NEURON_IOCTL_MEM_ALLOC_V2MT, NEURON_IOCTL_MEM_ALLOC_V2MT64};

long alloc_form(const fd_t &fd, uint32_t form, const alloc_t &a, uint64_t *handle) {
  if (form == NEURON_IOCTL_MEM_ALLOC) {
    neuron_ioctl_mem_alloc arg = {};
    arg.size = a.size;
    arg.host_memory = a.host;
    arg.dram_channel = a.channel;
    arg.dram_region = a.region;
    arg.nc_id = a.nc_id;
    arg.mem_handle = handle;
    return fd.io(form, &arg);
  }
  if (form == NEURON_IOCTL_MEM_ALLOC_V2) {
    neuron_ioctl_mem_alloc_v2 arg = {};
    arg.size = a.size;
    arg.align = a.align;
    arg.host_memory = a.host;
    arg.dram_channel = a.channel;
    arg.dram_region = a.region;
    arg.nc_id = a.nc_id;
    arg.mem_handle = handle;
    return fd.io(form, &arg);
  }
  if (form == NEURON_IOCTL_MEM_ALLOC_V2MT) {
    neuron_ioctl_mem_alloc_v2_mem_type arg = {};
    arg.size = a.size;
    arg.align = a.align;
    arg.host_memory = a.host;
    arg.dram_channel = a.channel;
    arg.dram_region = a.region;
    arg.nc_id = a.nc_id;
    arg.mem_type = a.category;
    arg.mem_handle = handle;
    return fd.io(form, &arg);
  }
  return alloc_at(fd, a, handle);
}

// The same answer from every form that has the fields; no handle is written.
void expect_all(const fd_t &fd, const alloc_t &a, long result) {
  for (uint32_t form : FORMS) {
    if (form == NEURON_IOCTL_MEM_ALLOC && a.align != 0)
      continue;
    SCOPED_TRACE(form);
    uint64_t handle = 0xfeed;
    EXPECT_EQ(alloc_form(fd, form, a, &handle), result);
    EXPECT_EQ(handle, 0xfeedu);
  }
}

}  // namespace

TEST_P(S5_2_Alloc, Check01_Gate) {
  NEEDS_BACKSTAGE();
  uint64_t handle = 0;
  EXPECT_EQ(alloc_form(inherited(dev, OTHER), NEURON_IOCTL_MEM_ALLOC, {}, &handle), -EACCES);
}

TEST_P(S5_2_Alloc, Check02_CopyIn) {
  hole_t hole;
  EXPECT_EQ(io(NEURON_IOCTL_MEM_ALLOC, hole.hole()), -EACCES);
  EXPECT_EQ(io(NEURON_IOCTL_MEM_ALLOC_V2, hole.hole()), 40);
  EXPECT_EQ(io(NEURON_IOCTL_MEM_ALLOC_V2MT, hole.hole()), 48);
  EXPECT_EQ(io(NEURON_IOCTL_MEM_ALLOC_V2MT64, hole.hole()), 56);
}

TEST_P(S5_2_Alloc, Check03_OtherFormsOfTheNumber) {
  uint8_t arg[256] = {};
  EXPECT_EQ(io(_IOC(_IOC_READ, 'N', 102, 64), arg), -EINVAL);
  EXPECT_EQ(io(_IOC(_IOC_READ, 'N', 102, 40), arg), -EINVAL);
  EXPECT_EQ(io(_IOC(_IOC_WRITE, 'N', 102, 56), arg), -EINVAL);
  EXPECT_EQ(io(_IOC(_IOC_READ | _IOC_WRITE, 'N', 102, 48), arg), -EINVAL);
}

TEST_P(S5_2_Alloc, Check04_SizeAboveInt64) {
  expect_all(dev, {.size = TOO_LARGE}, -EINVAL);
  expect_all(dev, {.size = UINT64_MAX}, -EINVAL);
  expect_all(dev, {.size = TOO_LARGE - 1}, -ENOMEM);
}

TEST_P(S5_2_Alloc, Check05_SizeZeroIsNoMemory) {
  expect_all(dev, {.size = 0}, -ENOMEM);
  expect_all(dev, {.size = 0, .host = true}, -ENOMEM);
}

TEST_P(S5_2_Alloc, Check06_Channel) {
  uint32_t channels = v2() ? 2 : 4;
  expect_all(dev, {.channel = channels}, -EINVAL);
  expect_all(dev, {.channel = UINT32_MAX}, -EINVAL);
  // Host memory too.
  expect_all(dev, {.host = true, .channel = channels}, -EINVAL);
  EXPECT_EQ(alloc(dev, {.channel = channels - 1}).rc, 0);
}

TEST_P(S5_2_Alloc, Check07_CoreOutOfRange) {
  expect_all(dev, {.nc_id = 8}, -EINVAL);
  expect_all(dev, {.host = true, .nc_id = UINT32_MAX}, -EINVAL);
  // The limit is 8, not the device's core count.
  EXPECT_EQ(alloc(dev, {.nc_id = 7}).rc, 0);
}

TEST_P(S5_2_Alloc, Check08_RegionIsForcedToZero) {
  EXPECT_EQ(alloc(dev, {.region = 1}).rc, 0);
  EXPECT_EQ(alloc(dev, {.region = UINT32_MAX}).rc, 0);
}

TEST_P(S5_2_Alloc, Check09_HostWithAlignment) {
  expect_all(dev, {.align = 64, .host = true}, -EINVAL);
  expect_all(dev, {.align = 1, .host = true}, -EINVAL);
  EXPECT_EQ(alloc(dev, {.host = true}).rc, 0);
}

TEST_P(S5_2_Alloc, Check10_ContiguousPlaceTaken) {
  ASSERT_EQ(alloc(dev, {.size = model().channel_size - SMALL_POOL - RESERVED}).rc, 0);
  uint64_t handle = 0;
  for (uint32_t form : {NEURON_IOCTL_MEM_ALLOC_V2MT, NEURON_IOCTL_MEM_ALLOC_V2MT64})
    EXPECT_EQ(alloc_form(dev, form, {.category = CONTIGUOUS}, &handle), -ENOMEM);
}

TEST_P(S5_2_Alloc, Check11_AlignmentAboveInt31) {
  expect_all(dev, {.align = 0x80000000}, -EINVAL);
  expect_all(dev, {.align = UINT64_MAX}, -EINVAL);
  EXPECT_EQ(alloc(dev, {.size = MIB, .align = 0x40000000}).pa, 0x40000000u);
}

TEST_P(S5_2_Alloc, Check12_NoAlignedSpace) {
  uint64_t main = model().channel_size - SMALL_POOL - RESERVED;
  // The only places aligned to 1 GiB in which so much fits are below the reserved start's end.
  expect_all(dev, {.size = main, .align = 0x40000000}, -ENOMEM);
}

TEST_P(S5_2_Alloc, Check12_AlignmentNoPowerOfTwo) {
  // 3 pages: the lowest place, 0x1000000, is no multiple of it.
  expect_all(dev, {.size = MIB, .align = 0x3000}, -ENOMEM);
  // Nor of 0x1001 pages, though a multiple lies just above.
  expect_all(dev, {.size = MIB, .align = 0x1001000}, -ENOMEM);
}

TEST_P(S5_2_Alloc, Check13_NoSpace) {
  expect_all(dev, {.size = model().channel_size}, -ENOMEM);
  expect_all(dev, {.size = 1ull << 62}, -ENOMEM);
  expect_all(dev, {.size = 8 * GIB, .host = true}, -ENOMEM);
}

TEST_P(S5_2_Alloc, Check14_UnattachedProcess) {
  NEEDS_BACKSTAGE();
  fd_t child = inherited(dev, OTHER);
  // Before the check of the size.
  expect_all(child, {.size = TOO_LARGE}, -EACCES);
  expect_all(child, {}, -EACCES);
}

TEST_P(S5_2_Alloc, Check16_HandleCannotBeStored) {
  hole_t hole;
  auto *bad = reinterpret_cast<uint64_t *>(hole.hole());
  for (uint32_t form : FORMS) {
    SCOPED_TRACE(form);
    EXPECT_EQ(alloc_form(dev, form, {}, nullptr), 8);
    EXPECT_EQ(alloc_form(dev, form, {}, bad), 8);
    EXPECT_EQ(alloc_form(dev, form, {.host = true}, bad), 8);
    read_only_t page(nullptr, 0);
    EXPECT_EQ(alloc_form(dev, form, {}, static_cast<uint64_t *>(page.page)), 8);
  }
  // The chunks were freed: nothing but the reserved one is left, nothing is charged.
  EXPECT_EQ(dump_chunks(dev, 0, 8).count, 1u);
  usage_t usage = usage_of(dev, getpid());
  EXPECT_EQ(usage.app.device_mem_size + usage.app.host_mem_size, 0u);
  EXPECT_EQ(alloc(dev).handle, 1u);
}

TEST_P(S5_2_Alloc, Success_EveryForm) {
  uint64_t expected = 1;
  for (uint32_t form : FORMS) {
    SCOPED_TRACE(form);
    for (bool host : {false, true}) {
      uint64_t handle = 0;
      EXPECT_EQ(alloc_form(dev, form, {.size = 5000, .host = host}, &handle), 0);
      EXPECT_EQ(handle, expected++);
      info_t info = extended_info(dev, handle);
      EXPECT_EQ(info.info.host_memory, host ? 1u : 0u);
      EXPECT_EQ(info.info.size, 8192u);
      EXPECT_EQ(info.info.pid, static_cast<uint64_t>(getpid()));
    }
  }
  usage_t usage = usage_of(dev, getpid());
  EXPECT_EQ(usage.app.device_mem_size, 4u * 8192);
  EXPECT_EQ(usage.app.host_mem_size, 4u * 8192);
}

TEST_P(S5_2_Alloc, Success_AlignmentFromTheSecondFormOn) {
  for (uint32_t form : FORMS) {
    uint64_t handle = 0;
    EXPECT_EQ(alloc_form(dev, form, {.size = MIB, .align = 32 * MIB}, &handle), 0);
    // MEM_ALLOC has no alignment.
    EXPECT_EQ(pa_of(dev, handle).pa, form == NEURON_IOCTL_MEM_ALLOC ? 0x1000000u : 0x2000000u);
    ASSERT_EQ(free_chunk(dev, handle), 0);
  }
}

TEST_P(S5_2_Alloc, MemType_IsNotCheckedAgainstTheLocation) {
  for (uint32_t category : {0u, 1u, 6u, 9u, 13u, 18u, 20u, 1000u, UINT32_MAX}) {
    SCOPED_TRACE(category);
    EXPECT_EQ(alloc(dev, {.category = category}).rc, 0);
    EXPECT_EQ(alloc(dev, {.host = true, .category = category}).rc, 0);
  }
}

TEST_P(S5_2_Alloc, MemType_HostWithCategory19) {
  uint64_t handle = 0;
  for (uint32_t form : {NEURON_IOCTL_MEM_ALLOC_V2MT, NEURON_IOCTL_MEM_ALLOC_V2MT64})
    EXPECT_EQ(alloc_form(dev, form, {.host = true, .category = CONTIGUOUS}, &handle), -EINVAL);
}

// Two bad arguments: the earlier check answers.
TEST_P(S5_2_Alloc, Order) {
  hole_t hole;
  auto *bad = reinterpret_cast<uint64_t *>(hole.hole());
  // 4 (EINVAL) before 5 and 13 (ENOMEM).
  EXPECT_EQ(alloc_at(dev, {.size = UINT64_MAX}, bad), -EINVAL);
  // 6, 7, 9, 11 (EINVAL) before size 0 ends as ENOMEM.
  EXPECT_EQ(alloc_at(dev, {.size = 0, .channel = 4}, bad), -EINVAL);
  EXPECT_EQ(alloc_at(dev, {.size = 0, .nc_id = 8}, bad), -EINVAL);
  EXPECT_EQ(alloc_at(dev, {.size = 0, .align = 64, .host = true}, bad), -EINVAL);
  EXPECT_EQ(alloc_at(dev, {.size = 0, .align = 1ull << 32}, bad), -EINVAL);
  // 10 (ENOMEM) before 11 (EINVAL): category 19 ignores the alignment.
  EXPECT_EQ(alloc_at(dev, {.size = 32 * GIB, .align = 1ull << 32, .category = CONTIGUOUS}, bad),
            -ENOMEM);
  // 12 and 13 before 16.
  EXPECT_EQ(alloc_at(dev, {.size = MIB, .align = 0x3000}, bad), -ENOMEM);
  EXPECT_EQ(alloc_at(dev, {.size = 32 * GIB}, bad), -ENOMEM);
}
