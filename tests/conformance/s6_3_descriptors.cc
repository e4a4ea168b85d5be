// SPDX-License-Identifier: Apache-2.0
// Section 6.3: descriptors in and out, and what a started queue does (6.1).
#include <chrono>
#include <thread>

#include "tests/conformance/dma.h"

CONFORMANCE_SUITE(S6_3_CopyDescriptors, V2_AND_V3);
CONFORMANCE_SUITE(S6_3_CopyOut, V2_AND_V3);
CONFORMANCE_SUITE(S6_3_CopyStart, V2_AND_V3);

namespace {

constexpr uint32_t TX = 0, RX = 1;

std::vector<descriptor_t> read_descriptors(const fd_t &fd, uint64_t handle, uint64_t offset,
                                           uint32_t count) {
  std::vector<descriptor_t> out(count);
  EXPECT_EQ(buf_read(fd, handle, offset, out.data(), count * 16), 0);
  return out;
}

bool same(const descriptor_t &a, const descriptor_t &b) {
  return memcmp(&a, &b, sizeof(a)) == 0;
}

long copyout(const fd_t &fd, uint32_t engine, uint32_t queue, uint32_t type, uint32_t start,
             uint32_t count, void *buffer) {
  neuron_ioctl_dma_descriptor_copyout arg = {};
  arg.eng_id = engine;
  arg.qid = queue;
  arg.type = static_cast<decltype(arg.type)>(type);
  arg.start_index = start;
  arg.count = count;
  arg.buffer = buffer;
  return fd.io(NEURON_IOCTL_DMA_DESCRIPTOR_COPYOUT, &arg);
}

// Rings of one queue and the chunks its descriptors name.
struct setup_t {
  chunk_t tx, rx, src, dst;
};

setup_t set_up(const fd_t &fd, uint32_t engine, uint32_t queue, bool host_rings,
               uint32_t count = 64) {
  setup_t s = {alloc(fd, {.host = host_rings}), alloc(fd, {.host = host_rings}),
               alloc(fd, {.size = MIB}), alloc(fd, {.size = MIB})};
  rings_t r = {.engine = engine,
               .queue = queue,
               .tx_count = count,
               .rx_count = count,
               .tx = s.tx.handle,
               .rx = s.rx.handle};
  EXPECT_EQ(queue_init(fd, r), 0);
  return s;
}

// Until both rings of the queue have been taken to their tails; the transfer is asynchronous.
bool drained(const fd_t &fd, uint32_t engine, uint32_t queue) {
  for (int i = 0; i < 5000; ++i) {
    queue_t q = queue_state(fd, engine, queue);
    if (q.rc == 0 && q.tx.head_pointer == q.tx.tail_pointer &&
        q.rx.head_pointer == q.rx.tail_pointer)
      return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace

TEST_P(S6_3_CopyDescriptors, WritesTheChunk) {
  chunk_t ring = alloc(dev), data = alloc(dev), host = alloc(dev, {.host = true});
  std::vector<descriptor_t> d = {tx_descriptor(data.pa, 64), tx_descriptor(host.pa + 100, 128),
                                 tx_descriptor(data.pa + 8, 0)};
  EXPECT_EQ(write_descriptors(dev, ring.handle, 32, d.data(), 3, TX), 0);
  std::vector<descriptor_t> got = read_descriptors(dev, ring.handle, 32, 3);
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(same(got[i], d[i])) << i;
  // The narrow form, the other kind of ring.
  descriptor_t r = rx_descriptor(host.pa, 64);
  neuron_ioctl_dma_copy_descriptors arg = {};
  arg.mem_handle = ring.handle;
  arg.buffer = &r;
  arg.num_descs = 1;
  arg.offset = 16;
  arg.queue_type = static_cast<decltype(arg.queue_type)>(RX);
  EXPECT_EQ(io(NEURON_IOCTL_DMA_COPY_DESCRIPTORS, &arg), 0);
  EXPECT_TRUE(same(read_descriptors(dev, ring.handle, 16, 1)[0], r));
}

TEST_P(S6_3_CopyDescriptors, Check1_GateOfTheNarrowForm) {
  NEEDS_BACKSTAGE();
  neuron_ioctl_dma_copy_descriptors arg = {};
  EXPECT_EQ(inherited(dev, OTHER).io(NEURON_IOCTL_DMA_COPY_DESCRIPTORS, &arg), -EACCES);
  chunk_t ring = alloc(dev);
  descriptor_t d = tx_descriptor(ring.pa, 64);
  EXPECT_EQ(write_descriptors(inherited(dev, OTHER), ring.handle, 0, &d, 1, TX), 0);
}

TEST_P(S6_3_CopyDescriptors, Check2_Variant) {
  uint8_t arg[64] = {};
  for (uint32_t size : {0u, 32u, 48u})
    EXPECT_EQ(io(_IOC(_IOC_READ, 'N', 38, size), arg), -EINVAL) << size;
}

TEST_P(S6_3_CopyDescriptors, Check3_Handle) {
  hole_t hole;
  EXPECT_EQ(write_descriptors(dev, BAD_HANDLE, 0, hole.hole(), 1, 7), -EINVAL);
  EXPECT_EQ(write_descriptors(dev, 0, 0, hole.hole(), 1, TX), -EINVAL);
}

TEST_P(S6_3_CopyDescriptors, Check4_Bounds) {
  chunk_t ring = alloc(dev);
  std::vector<descriptor_t> d(300, tx_descriptor(ring.pa, 64));
  EXPECT_EQ(write_descriptors(dev, ring.handle, 0, d.data(), 256, TX), 0);
  EXPECT_EQ(write_descriptors(dev, ring.handle, 0, d.data(), 257, TX), -EINVAL);
  EXPECT_EQ(write_descriptors(dev, ring.handle, 16, d.data(), 256, TX), -EINVAL);
  EXPECT_EQ(write_descriptors(dev, ring.handle, PAGE, d.data(), 1, TX), -EINVAL);
  EXPECT_EQ(write_descriptors(dev, ring.handle, UINT64_MAX - 15, d.data(), 1, TX), -EINVAL);
  // 2^28 + 1 descriptors are 16 bytes modulo 2^32.
  EXPECT_EQ(write_descriptors(dev, ring.handle, 0, d.data(), (1u << 28) + 1, TX), -EINVAL);
  // Before the kind and the buffer.
  hole_t hole;
  EXPECT_EQ(write_descriptors(dev, ring.handle, PAGE, hole.hole(), 1, 7), -EINVAL);
}

TEST_P(S6_3_CopyDescriptors, Check6_UserFault) {
  chunk_t ring = alloc(dev);
  hole_t hole;
  EXPECT_EQ(write_descriptors(dev, ring.handle, 0, hole.hole(), 2, TX), 32);
  EXPECT_EQ(write_descriptors(dev, ring.handle, 0, nullptr, 2, TX), 32);
  // Before the kind.
  EXPECT_EQ(write_descriptors(dev, ring.handle, 0, hole.hole(), 2, 7), 32);
}

TEST_P(S6_3_CopyDescriptors, Check7_QueueType) {
  chunk_t ring = alloc(dev);
  descriptor_t d = tx_descriptor(ring.pa, 64);
  for (uint32_t type : {2u, 3u, UINT32_MAX})
    EXPECT_EQ(write_descriptors(dev, ring.handle, 0, &d, 1, type), -EPERM) << type;
  EXPECT_EQ(read_descriptors(dev, ring.handle, 0, 1)[0].address, 0u);
}

TEST_P(S6_3_CopyDescriptors, Check8_HostAddressWithoutAChunk) {
  chunk_t ring = alloc(dev), host = alloc(dev, {.host = true});
  uint64_t nowhere = (v2() ? 0x100000000000 : 0x400000000000) + 0xfff00000;
  for (uint32_t type : {TX, RX}) {
    descriptor_t d = tx_descriptor(nowhere, 64);
    EXPECT_EQ(write_descriptors(dev, ring.handle, 0, &d, 1, type), -EINVAL);
    EXPECT_EQ(read_descriptors(dev, ring.handle, 0, 1)[0].address, 0u);
    // One among good ones, too.
    descriptor_t three[] = {tx_descriptor(host.pa, 64), tx_descriptor(ring.pa, 64), d};
    EXPECT_EQ(write_descriptors(dev, ring.handle, 0, three, 3, type), -EINVAL);
    // Without the bit nothing is looked up.
    d = tx_descriptor(0x123456789000, 64);
    d.address &= ~model().host_bit;
    EXPECT_EQ(write_descriptors(dev, ring.handle, 0, &d, 1, type), 0);
    d.address = 0;
    EXPECT_EQ(write_descriptors(dev, ring.handle, 0, &d, 1, type), 0);
  }
}

// v2 compares bits 48 to 44 as a whole; v3 looks at bit 46 alone.
TEST_P(S6_3_CopyDescriptors, Check8_WhichAddressesAreHost) {
  chunk_t ring = alloc(dev);
  struct {
    uint64_t address;
    bool v2_host, v3_host;
  } rows[] = {
      {0x100000001000, true, false},   {0x300000001000, false, false},
      {0x400000001000, false, true},   {0x500000001000, false, true},
      {0x1400000001000, false, true},  {0x800000001000, false, false},
      {0x10100000001000, true, false},
  };
  for (const auto &row : rows) {
    descriptor_t d = tx_descriptor(row.address, 64);
    EXPECT_EQ(write_descriptors(dev, ring.handle, 0, &d, 1, TX),
              (v2() ? row.v2_host : row.v3_host) ? -EINVAL : 0)
        << std::hex << row.address;
  }
}

TEST_P(S6_3_CopyDescriptors, Check8_OnlyDevicesTheCallerIsAttachedTo) {
  NEEDS_BACKSTAGE();
  chunk_t ring = alloc(dev), host = alloc(dev, {.host = true});
  descriptor_t d = tx_descriptor(host.pa, 64);
  EXPECT_EQ(write_descriptors(dev, ring.handle, 0, &d, 1, TX), 0);
  EXPECT_EQ(write_descriptors(open(OTHER), ring.handle, 0, &d, 1, TX), 0);
  EXPECT_EQ(write_descriptors(inherited(dev, THIRD), ring.handle, 0, &d, 1, TX), -EINVAL);
}

// Pieces are 64 KiB of descriptors: 4096.
TEST_P(S6_3_CopyDescriptors, EarlierPiecesStayWritten) {
  chunk_t ring = alloc(dev, {.size = 256 * KIB});
  std::vector<descriptor_t> d(5000, tx_descriptor(ring.pa, 64));
  d[4500].address = model().host_bit + 0xfff00000;
  EXPECT_EQ(write_descriptors(dev, ring.handle, 0, d.data(), 5000, TX), -EINVAL);
  std::vector<descriptor_t> got = read_descriptors(dev, ring.handle, 0, 5000);
  EXPECT_TRUE(same(got[0], d[0]));
  EXPECT_TRUE(same(got[4095], d[0]));
  EXPECT_EQ(got[4096].address, 0u);
}

TEST_P(S6_3_CopyOut, HostRing) {
  setup_t s = set_up(dev, 2, 1, true);
  std::vector<descriptor_t> d;
  for (uint32_t i = 0; i < 64; ++i)
    d.push_back(tx_descriptor(s.src.pa + i * 64, 64));
  ASSERT_EQ(write_descriptors(dev, s.tx.handle, 0, d.data(), 64, TX), 0);
  std::vector<descriptor_t> got(3);
  EXPECT_EQ(copyout(dev, 2, 1, TX, 61, 3, got.data()), 0);
  for (uint32_t i = 0; i < 3; ++i)
    EXPECT_TRUE(same(got[i], d[61 + i]));
}

TEST_P(S6_3_CopyOut, DeviceRingIgnoresTheStart) {
  setup_t s = set_up(dev, 2, 1, false);
  std::vector<descriptor_t> d;
  for (uint32_t i = 0; i < 64; ++i)
    d.push_back(rx_descriptor(s.src.pa + i * 64, 64));
  ASSERT_EQ(write_descriptors(dev, s.rx.handle, 0, d.data(), 64, RX), 0);
  std::vector<descriptor_t> got(3);
  EXPECT_EQ(copyout(dev, 2, 1, RX, 10, 3, got.data()), 0);
  for (uint32_t i = 0; i < 3; ++i)
    EXPECT_TRUE(same(got[i], d[i]));
}

TEST_P(S6_3_CopyOut, Checks) {
  setup_t s = set_up(dev, 2, 1, true);
  std::vector<descriptor_t> got(64);
  EXPECT_EQ(copyout(dev, 2, 1, TX, 0, 64, got.data()), 0);
  EXPECT_EQ(copyout(dev, 2, 1, TX, 0, 0, got.data()), -EINVAL);
  EXPECT_EQ(copyout(dev, 132, 1, TX, 0, 1, got.data()), -EINVAL);
  EXPECT_EQ(copyout(dev, 2, 16, TX, 0, 1, got.data()), -EINVAL);
  EXPECT_EQ(copyout(dev, 2, 1, TX, 0, 65, got.data()), -EFBIG);
  EXPECT_EQ(copyout(dev, 2, 1, RX, 63, 2, got.data()), -EFBIG);
  EXPECT_EQ(copyout(dev, 2, 1, TX, UINT32_MAX, 2, got.data()), -EFBIG);
  EXPECT_EQ(copyout(dev, 2, 1, 2, 0, 1, got.data()), -EINVAL);  // completion ring
  EXPECT_EQ(copyout(dev, 2, 1, 7, 0, 1, got.data()), -EINVAL);
  hole_t hole;
  EXPECT_EQ(copyout(dev, 2, 1, TX, 0, 2, hole.hole()), 32);
  // The length before the buffer, the count before the engine.
  EXPECT_EQ(copyout(dev, 2, 1, TX, 0, 65, hole.hole()), -EFBIG);
  // The ring's chunk is gone.
  ASSERT_EQ(free_chunk(dev, s.tx.handle), 0);
  EXPECT_EQ(copyout(dev, 2, 1, TX, 0, 1, got.data()), -EINVAL);
}

// The driver stages device rings in a buffer; the mock's holds 4 MiB.
TEST_P(S6_3_CopyOut, DeviceRingLargerThanTheBuffer) {
  chunk_t tx = alloc(dev, {.size = 8 * MIB}), rx = alloc(dev);
  rings_t r = {.engine = 2, .queue = 1, .tx_count = 524288, .tx = tx.handle, .rx = rx.handle};
  ASSERT_EQ(queue_init(dev, r), 0);
  std::vector<descriptor_t> got(300000);
  EXPECT_EQ(copyout(dev, 2, 1, TX, 0, 262145, got.data()), -ENOMEM);
  EXPECT_EQ(copyout(dev, 2, 1, TX, 0, 1000, got.data()), 0);
}

TEST_P(S6_3_CopyStart, MovesTheData) {
  for (bool host_rings : {false, true}) {
    SCOPED_TRACE(host_rings);
    setup_t s = set_up(dev, 4, 6, host_rings);
    std::vector<uint8_t> data = pattern(65536, host_rings);
    ASSERT_EQ(buf_write(dev, s.src.handle, 0, data.data(), data.size()), 0);
    // 64 KiB is written as length 0.
    descriptor_t tx = tx_descriptor(s.src.pa, 65536), rx = rx_descriptor(s.dst.pa + 7, 65536);
    ASSERT_EQ(write_descriptors(dev, s.tx.handle, 0, &tx, 1, TX), 0);
    ASSERT_EQ(write_descriptors(dev, s.rx.handle, 0, &rx, 1, RX), 0);
    EXPECT_EQ(copy_start(dev, 4, 6, 1, 1), 0);
    ASSERT_TRUE(drained(dev, 4, 6));
    EXPECT_EQ(bytes_of(dev, s.dst.handle, 7, 65536), data);
    queue_t q = queue_state(dev, 4, 6);
    EXPECT_EQ(q.tx.tail_pointer, 1u);
    EXPECT_EQ(q.rx.tail_pointer, 1u);
  }
}

// One packet is streamed: its boundaries on the two sides need not agree.
TEST_P(S6_3_CopyStart, StreamsPackets) {
  setup_t s = set_up(dev, 4, 6, false);
  std::vector<uint8_t> data = pattern(1000, 5);
  ASSERT_EQ(buf_write(dev, s.src.handle, 0, data.data(), data.size()), 0);
  descriptor_t tx[] = {tx_descriptor(s.src.pa, 600), tx_descriptor(s.src.pa + 600, 400)};
  tx[0].word0 &= ~(1u << 27);  // first, not last
  tx[1].word0 &= ~(1u << 26);  // last, not first
  descriptor_t rx[] = {rx_descriptor(s.dst.pa, 300), rx_descriptor(s.dst.pa + 5000, 500),
                       rx_descriptor(s.dst.pa + 9000, 200)};
  ASSERT_EQ(write_descriptors(dev, s.tx.handle, 0, tx, 2, TX), 0);
  ASSERT_EQ(write_descriptors(dev, s.rx.handle, 0, rx, 3, RX), 0);
  EXPECT_EQ(copy_start(dev, 4, 6, 2, 3), 0);
  ASSERT_TRUE(drained(dev, 4, 6));
  auto part = [&](size_t from, size_t to) {
    return std::vector<uint8_t>(data.begin() + from, data.begin() + to);
  };
  EXPECT_EQ(bytes_of(dev, s.dst.handle, 0, 300), part(0, 300));
  EXPECT_EQ(bytes_of(dev, s.dst.handle, 5000, 500), part(300, 800));
  EXPECT_EQ(bytes_of(dev, s.dst.handle, 9000, 200), part(800, 1000));
}

TEST_P(S6_3_CopyStart, HostMemoryBothWays) {
  setup_t s = set_up(dev, 0, 1, false);
  chunk_t host = alloc(dev, {.host = true});
  ASSERT_EQ(buf_write(dev, host.handle, 0, "hostdata", 8), 0);
  descriptor_t tx[] = {tx_descriptor(host.pa, 8), tx_descriptor(s.dst.pa, 8)};
  descriptor_t rx[] = {rx_descriptor(s.dst.pa, 8), rx_descriptor(host.pa + 64, 8)};
  ASSERT_EQ(write_descriptors(dev, s.tx.handle, 0, tx, 2, TX), 0);
  ASSERT_EQ(write_descriptors(dev, s.rx.handle, 0, rx, 2, RX), 0);
  EXPECT_EQ(copy_start(dev, 0, 1, 2, 2), 0);
  ASSERT_TRUE(drained(dev, 0, 1));
  EXPECT_EQ(bytes_of(dev, host.handle, 64, 8), bytes_of(dev, host.handle, 0, 8));
}

// The RX ring may be given first, the TX ring later; rings wrap.
TEST_P(S6_3_CopyStart, TailsAdvanceAndWrap) {
  setup_t s = set_up(dev, 1, 2, false, 32);
  ASSERT_EQ(buf_write(dev, s.src.handle, 0, "wrap", 4), 0);
  std::vector<descriptor_t> tx, rx;
  for (uint32_t i = 0; i < 32; ++i) {
    tx.push_back(tx_descriptor(s.src.pa, 4));
    rx.push_back(rx_descriptor(s.dst.pa + i * 4, 4));
  }
  ASSERT_EQ(write_descriptors(dev, s.tx.handle, 0, tx.data(), 32, TX), 0);
  ASSERT_EQ(write_descriptors(dev, s.rx.handle, 0, rx.data(), 32, RX), 0);
  EXPECT_EQ(copy_start(dev, 1, 2, 0, 20), 0);
  EXPECT_EQ(queue_state(dev, 1, 2).rx.tail_pointer, 20u);
  EXPECT_EQ(queue_state(dev, 1, 2).tx.tail_pointer, 0u);
  EXPECT_EQ(copy_start(dev, 1, 2, 30, 10), 0);
  ASSERT_TRUE(drained(dev, 1, 2));
  EXPECT_EQ(queue_state(dev, 1, 2).tx.tail_pointer, 30u);
  EXPECT_EQ(queue_state(dev, 1, 2).rx.tail_pointer, 30u);
  // The second time round the ring id is 2.
  for (descriptor_t &d : tx)
    d.word0 ^= 3u << 24;
  for (descriptor_t &d : rx)
    d.word0 ^= 3u << 24;
  ASSERT_EQ(write_descriptors(dev, s.tx.handle, 0, tx.data(), 4, TX), 0);
  ASSERT_EQ(write_descriptors(dev, s.rx.handle, 0, rx.data(), 4, RX), 0);
  EXPECT_EQ(copy_start(dev, 1, 2, 6, 6), 0);
  ASSERT_TRUE(drained(dev, 1, 2));
  EXPECT_EQ(queue_state(dev, 1, 2).tx.tail_pointer, 4u);
  EXPECT_EQ(queue_state(dev, 1, 2).rx.tail_pointer, 4u);
  EXPECT_EQ(bytes_of(dev, s.dst.handle, 31 * 4, 4), std::vector<uint8_t>({'w', 'r', 'a', 'p'}));
}

// v3 masks ring-id errors of the cores' engines; elsewhere a wrong one aborts (6.1).
TEST_P(S6_3_CopyStart, RingIds) {
  uint32_t last_core_engine = model().cores * 16 - 1, copy_engine = model().cores * 16;
  for (uint32_t engine : {0u, last_core_engine, copy_engine}) {
    SCOPED_TRACE(engine);
    setup_t s = set_up(dev, engine, 5, false);
    ASSERT_EQ(buf_write(dev, s.src.handle, 0, "ring", 4), 0);
    descriptor_t tx = tx_descriptor(s.src.pa, 4), rx = rx_descriptor(s.dst.pa, 4);
    tx.word0 ^= 3u << 24;  // 2: a new ring starts at 1
    ASSERT_EQ(write_descriptors(dev, s.tx.handle, 0, &tx, 1, TX), 0);
    ASSERT_EQ(write_descriptors(dev, s.rx.handle, 0, &rx, 1, RX), 0);
    EXPECT_EQ(copy_start(dev, engine, 5, 1, 1), 0);
    if (!v2() && engine != copy_engine) {
      ASSERT_TRUE(drained(dev, engine, 5));
      EXPECT_EQ(bytes_of(dev, s.dst.handle, 0, 4), std::vector<uint8_t>({'r', 'i', 'n', 'g'}));
    } else {
      EXPECT_EQ(bytes_of(dev, s.dst.handle, 0, 4), std::vector<uint8_t>(4, 0));
      EXPECT_EQ(queue_state(dev, engine, 5).tx.sw_status, 3u);  // aborted
      neuron_dma_eng_state state = {};
      neuron_ioctl_dma_eng_get_state arg = {engine, &state};
      ASSERT_EQ(io(NEURON_IOCTL_DMA_ENG_GET_STATE, &arg), 0);
      EXPECT_EQ(state.tx_state, 3u);
    }
  }
}

TEST_P(S6_3_CopyStart, Checks) {
  set_up(dev, 4, 6, false);
  EXPECT_EQ(copy_start(dev, 132, 0, 1, 1), -EINVAL);
  EXPECT_EQ(copy_start(dev, UINT32_MAX, 99, 1, 1), -EINVAL);
  EXPECT_EQ(copy_start(dev, 4, 16, 1, 1), -EPERM);
  EXPECT_EQ(copy_start(dev, 4, 6, 65, 1), -EPERM);
  EXPECT_EQ(copy_start(dev, 4, 6, 1, 65), -EPERM);
  set_up(dev, 4, 7, false);  // a ring's worth is not too much
  EXPECT_EQ(copy_start(dev, 4, 7, 0, 64), 0);
  EXPECT_EQ(copy_start(dev, 4, 6, 65, 0), -EPERM);  // the TX count before the RX count of 0
  EXPECT_EQ(copy_start(dev, 4, 6, 1, 0), -EINVAL);
  queue_t q = queue_state(dev, 4, 6);
  EXPECT_EQ(q.tx.tail_pointer, 0u);
  EXPECT_EQ(q.rx.tail_pointer, 0u);
}

TEST_P(S6_3_CopyStart, QueueWithoutReceiveRing) {
  chunk_t tx = alloc(dev);
  rings_t r = {.engine = 4, .queue = 7, .tx = tx.handle};
  ASSERT_EQ(queue_init(dev, r), 0);
  EXPECT_EQ(copy_start(dev, 4, 7, 1, 1), -EINVAL);
}
