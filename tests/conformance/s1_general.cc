// SPDX-License-Identifier: Apache-2.0
// Section 1: what holds for every request, over the request table of uapi.md 4.
#include <set>

#include "tests/conformance/memory.h"
#include "tests/conformance/request_table.h"

CONFORMANCE_SUITE(S1_General, V2_AND_V3);

namespace {

long expected_null(const request_row_t &row) {
  return row.null_result == SIZE ? static_cast<long>(row.size) : row.null_result;
}

// v2 answers the map request by number, before or after looking at the argument: the sheet does not
// say which.
bool order_unknown(const request_row_t &row, const model_t &model) {
  return row.request == NEURON_IOCTL_GET_LOGICAL_TO_PHYSICAL_NC_MAP && model.architecture == 2;
}

// Requests the driver picks by number alone at first (uapi.md 3).
bool picked_by_number(uint32_t nr) {
  static const std::set<uint32_t> numbers = {23,  24,  28,  38,  102, 105, 108,
                                             110, 111, 115, 121, 122, 123, 124};
  return numbers.count(nr) != 0;
}

}  // namespace

// The request values written out (uapi.md 4), a few of each macro kind.
TEST_P(S1_General, Values) {
  EXPECT_EQ(NEURON_IOCTL_DEVICE_RESET, 0x00004E01u);
  EXPECT_EQ(NEURON_IOCTL_DEVICE_READY, 0x80014E02u);
  EXPECT_EQ(NEURON_IOCTL_BAR_WRITE, 0x40084E0Cu);
  EXPECT_EQ(NEURON_IOCTL_MEM_ALLOC_V2MT64, 0x80384E66u);
  EXPECT_EQ(NEURON_IOCTL_MEM_COPY_ASYNC64, 0xC0384E6Cu);
  EXPECT_EQ(NEURON_IOCTL_CRWL_NC_RANGE_MARK_EXT0, 0xC0504E55u);
  EXPECT_EQ(NEURON_IOCTL_POD_STATUS_V2, 0xC1144E7Au);
  EXPECT_EQ(NEURON_IOCTL_DMA_QUEUE_INIT_BATCH, 0xB0084E85u);
  std::set<uint32_t> values, numbers;
  uint32_t gated = 0;
  for (const request_row_t &row : REQUESTS) {
    values.insert(row.request);
    numbers.insert(_IOC_NR(row.request));
    gated += row.gated;
  }
  EXPECT_EQ(values.size(), 94u);
  EXPECT_EQ(numbers.size(), 79u);
  EXPECT_EQ(gated, 19u);
}

TEST_P(S1_General, Lane_DeviceRequestsAreRefusedOnTheMiscLane) {
  for (const request_row_t &row : REQUESTS) {
    SCOPED_TRACE(row.name);
    std::vector<uint8_t> arg(16384);
    if (!row.misc) {
      EXPECT_EQ(io_misc(row.request, arg.data()), -EINVAL);
    }
  }
}

TEST_P(S1_General, Lane_MiscRequestsPassOnBothLanes) {
  for (const request_row_t &row : REQUESTS) {
    SCOPED_TRACE(row.name);
    if (row.misc && !order_unknown(row, model())) {
      EXPECT_EQ(io_misc(row.request, nullptr), expected_null(row));
      EXPECT_EQ(io(row.request, nullptr), expected_null(row));
    }
  }
}

TEST_P(S1_General, Lane_MiscCannotMap) {
  chunk_t c = alloc(dev);
  void *va = nullptr;
  EXPECT_EQ(misc.map(c.pa, PAGE, PROT_READ, &va), -EACCES);
}

// uapi.md 2: the O_WRONLY bit alone chooses. Writing through a mapping needs O_RDWR.
TEST_P(S1_General, Lane_ReadOnlyIsTheDeviceLane) {
  NEEDS_BACKSTAGE();
  fd_t other = {target.get(), OTHER, backstage().open_read_only(OTHER)};
  ASSERT_GE(other.fd, 0);
  chunk_t c = alloc(other);
  EXPECT_EQ(c.rc, 0);
  EXPECT_TRUE(usage_of(dev, OTHER).found);
  void *va = nullptr;
  EXPECT_EQ(other.map(c.pa, PAGE, PROT_READ | PROT_WRITE, &va), -EACCES);
  EXPECT_EQ(other.map(c.pa, PAGE, PROT_READ, &va), 0);
  EXPECT_EQ(other.unmap(va, PAGE), 0);
}

TEST_P(S1_General, Gate_NineteenRequestsNeedAnAttachedProcess) {
  NEEDS_BACKSTAGE();
  fd_t child = inherited(dev, OTHER);
  for (const request_row_t &row : REQUESTS) {
    SCOPED_TRACE(row.name);
    std::vector<uint8_t> arg(16384);
    if (row.gated) {
      EXPECT_EQ(child.io(row.request, arg.data()), -EACCES);
    }
  }
}

TEST_P(S1_General, Gate_OthersPassForAnUnattachedProcess) {
  NEEDS_BACKSTAGE();
  fd_t child = inherited(dev, OTHER);
  for (const request_row_t &row : REQUESTS) {
    SCOPED_TRACE(row.name);
    // The driver crashes without a process slot; these four answer like gated ones.
    bool crash = _IOC_NR(row.request) == 102 || row.request == NEURON_IOCTL_HBM_SCRUB_START;
    if (row.gated || order_unknown(row, model()))
      continue;
    EXPECT_EQ(child.io(row.request, nullptr), crash ? -EACCES : expected_null(row));
  }
}

TEST_P(S1_General, Gate_MiscLaneFdIsNotGated) {
  NEEDS_BACKSTAGE();
  EXPECT_EQ(open(OTHER, HAL_LANE_MISC).io(NEURON_IOCTL_DRIVER_INFO_SET, nullptr),
            -NEURON_ERRNO_NOTSUPP);
}

TEST_P(S1_General, Order_LaneGateArgument) {
  NEEDS_BACKSTAGE();
  // Lane before gate: an unattached process on the misc lane.
  EXPECT_EQ(open(OTHER, HAL_LANE_MISC).io(NEURON_IOCTL_MEM_FREE, nullptr), -EINVAL);
  // Gate before the argument.
  EXPECT_EQ(inherited(dev, OTHER).io(NEURON_IOCTL_MEM_FREE, nullptr), -EACCES);
  // Argument before the handler's checks.
  EXPECT_EQ(io(NEURON_IOCTL_MEM_FREE, nullptr), 8);
}

TEST_P(S1_General, BadPointer_Null) {
  for (const request_row_t &row : REQUESTS) {
    SCOPED_TRACE(row.name);
    if (!order_unknown(row, model())) {
      EXPECT_EQ(io(row.request, nullptr), expected_null(row));
    }
  }
}

TEST_P(S1_General, BadPointer_Unmapped) {
  hole_t hole;
  for (const request_row_t &row : REQUESTS) {
    SCOPED_TRACE(row.name);
    if (!order_unknown(row, model())) {
      EXPECT_EQ(io(row.request, hole.hole()), expected_null(row));
    }
  }
}

TEST_P(S1_General, BadPointer_PartlyMapped) {
  hole_t hole;
  memset(hole.base, 0, PAGE);
  neuron_ioctl_mem_free free = {1};
  // Four of the eight bytes can be read.
  memcpy(hole.last(4), &free, 4);
  long left = io(NEURON_IOCTL_MEM_FREE, hole.last(4));
  EXPECT_GT(left, 0);
  EXPECT_LE(left, 8);
}

TEST_P(S1_General, BadPointer_ReadOnlyIsFineForRequestsThatOnlyRead) {
  chunk_t c = alloc(dev);
  neuron_ioctl_memset64 set = {};
  set.mem_handle = c.handle;
  set.value = 0x5a;
  set.size = 4;
  EXPECT_EQ(io(NEURON_IOCTL_MEMSET64, read_only_t(&set, sizeof(set)).page), 0);
  EXPECT_EQ(bytes_of(dev, c.handle, 0, 4), std::vector<uint8_t>(4, 0x5a));
  neuron_ioctl_mem_free free = {c.handle};
  EXPECT_EQ(io(NEURON_IOCTL_MEM_FREE, read_only_t(&free, sizeof(free)).page), 0);
}

TEST_P(S1_General, GenericFailureIsEperm) {
  EXPECT_EQ(io(NEURON_IOCTL_NOTIFICATIONS_QUEUE_INFO, nullptr), -1);
}

TEST_P(S1_General, Handles_AreGlobalWithoutOwner) {
  NEEDS_BACKSTAGE();
  chunk_t c = alloc(dev);
  ASSERT_EQ(buf_write(dev, c.handle, 0, "mine", 4), 0);
  fd_t other = open(OTHER);
  EXPECT_EQ(bytes_of(other, c.handle, 0, 4), std::vector<uint8_t>({'m', 'i', 'n', 'e'}));
  EXPECT_EQ(pa_of(other, c.handle).pa, c.pa);
  void *va = nullptr;
  EXPECT_EQ(other.map(c.pa, PAGE, PROT_READ, &va), 0);
  EXPECT_EQ(other.unmap(va, PAGE), 0);
  EXPECT_EQ(free_chunk(other, c.handle), 0);
  EXPECT_EQ(free_chunk(dev, c.handle), -EINVAL);
}

TEST_P(S1_General, Handles_ForkedChildRunsTheUngatedRequests) {
  NEEDS_BACKSTAGE();
  chunk_t a = alloc(dev), b = alloc(dev);
  fd_t child = inherited(dev, OTHER);
  ASSERT_EQ(buf_write(child, a.handle, 0, "fork", 4), 0);
  neuron_ioctl_mem_copy64 copy = {a.handle, b.handle, 4, 0, 0};
  EXPECT_EQ(child.io(NEURON_IOCTL_MEM_COPY64, &copy), 0);
  EXPECT_EQ(bytes_of(dev, b.handle, 0, 4), std::vector<uint8_t>({'f', 'o', 'r', 'k'}));
  neuron_ioctl_memset64 set = {};
  set.mem_handle = b.handle;
  set.size = 4;
  EXPECT_EQ(child.io(NEURON_IOCTL_MEMSET64, &set), 0);
  EXPECT_EQ(bytes_of(dev, b.handle, 0, 4), std::vector<uint8_t>(4, 0));
  void *va = nullptr;
  EXPECT_EQ(child.map(b.pa, PAGE, PROT_READ, &va), 0);
  EXPECT_EQ(child.unmap(va, PAGE), 0);
  // The gated form of the same request is refused.
  neuron_ioctl_mem_copy narrow = {};
  EXPECT_EQ(child.io(NEURON_IOCTL_MEM_COPY, &narrow), -EACCES);
}

TEST_P(S1_General, Unknown_NumberIsEinvalOnBothLanes) {
  std::set<uint32_t> known;
  for (const request_row_t &row : REQUESTS)
    known.insert(_IOC_NR(row.request));
  std::vector<uint8_t> arg(16384);
  for (uint32_t nr = 0; nr < 256; ++nr) {
    if (known.count(nr) != 0)
      continue;
    SCOPED_TRACE(nr);
    for (uint32_t request : {0x80084E00u | nr, 0x00004E00u | nr, 0xC0184E00u | nr}) {
      EXPECT_EQ(io(request, arg.data()), -EINVAL);
      EXPECT_EQ(io_misc(request, arg.data()), -EINVAL);
    }
  }
}

TEST_P(S1_General, Unknown_VariantOfAKnownNumber) {
  std::set<uint32_t> values;
  for (const request_row_t &row : REQUESTS)
    values.insert(row.request);
  std::vector<uint8_t> arg(16384);
  for (const request_row_t &row : REQUESTS) {
    SCOPED_TRACE(row.name);
    uint32_t nr = _IOC_NR(row.request);
    // Two that look at nothing but the number, or the number and a minimum size.
    if (nr == 124 || nr == 110)
      continue;
    for (uint32_t size : {12u, 72u, 2000u}) {
      uint32_t request = (row.request & ~_IOC(0, 0, 0, 0x3fff)) | _IOC(0, 0, 0, size);
      if (values.count(request) == 0) {
        EXPECT_EQ(io(request, arg.data()), -EINVAL) << size;
      }
    }
    // Another direction or letter is another value, unless the number alone selects.
    if (!picked_by_number(nr)) {
      EXPECT_EQ(io(row.request ^ _IOC(_IOC_READ, 0, 0, 0), arg.data()), -EINVAL);
      EXPECT_EQ(io((row.request & ~0xff00u) | ('M' << 8), arg.data()), -EINVAL);
    }
  }
}

TEST_P(S1_General, Unknown_LetterIsNotCheckedForNumberMatchedRequests) {
  auto letter = [](uint32_t request) { return (request & ~0xff00u) | ('Z' << 8); };
  neuron_ioctl_device_driver_info info = {};
  EXPECT_EQ(io(letter(NEURON_IOCTL_DRIVER_INFO_GET), &info), 0);
  EXPECT_EQ(info.size, 24u);
  neuron_ioctl_host_device_id_to_rid_map map = {};
  EXPECT_EQ(io(letter(NEURON_IOCTL_HOST_DEVICE_ID_TO_RID_MAP), &map), 0);
  EXPECT_EQ(map.count, 1u);
  neuron_ioctl_mem_get_mc_mmap_info mc = {};
  EXPECT_EQ(io(letter(NEURON_IOCTL_MEM_MC_GET_INFO), &mc), 0);
  EXPECT_EQ(mc.size, RESERVED);
}

// Number 124 compares nothing more: any direction, size or letter is the 40-byte structure.
TEST_P(S1_General, Unknown_ZerocopyTakesAnyForm) {
  chunk_t c = alloc(dev);
  for (uint32_t request : {0xC0284E7Cu, 0x80084E7Cu, 0x0000417Cu, 0x40104E7Cu}) {
    std::vector<uint8_t> data = pattern(64, request);
    neuron_ioctl_mem_buf_copy64 arg = {};
    arg.mem_handle = c.handle;
    arg.buffer = data.data();
    arg.size = data.size();
    arg.copy_to_mem_handle = 1;
    EXPECT_EQ(io(request, &arg), 0) << request;
    EXPECT_EQ(bytes_of(dev, c.handle, 0, 64), data);
  }
}

TEST_P(S1_General, AlwaysTheSameAnswer) {
  EXPECT_EQ(io(NEURON_IOCTL_DEVICE_INIT, nullptr), 0);
  EXPECT_EQ(io(NEURON_IOCTL_DEVICE_RELEASE, nullptr), 0);
  EXPECT_EQ(io(NEURON_IOCTL_DMA_ENG_INIT, nullptr), 0);
  EXPECT_EQ(io(NEURON_IOCTL_NOTIFICATIONS_DESTROY_V1, nullptr), 0);
  EXPECT_EQ(io(NEURON_IOCTL_DMA_QUIESCE_QUEUES, nullptr), -ENOTTY);
  EXPECT_EQ(io(NEURON_IOCTL_DRIVER_INFO_SET, nullptr), -524);
  neuron_ioctl_dma_queue_release release = {131, 15};
  EXPECT_EQ(io(NEURON_IOCTL_DMA_QUEUE_RELEASE, &release), 0);
}
