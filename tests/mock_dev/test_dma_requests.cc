// SPDX-License-Identifier: Apache-2.0
// Requests on DMA engines, queues and descriptors: checks in order, errno, what stays behind
// (mock-device-semantics.md 6.3 and 4).
#include "tests/mock_dev/dma_fixture.h"

namespace {

constexpr uint64_t V2_HOST = 0x100000000000, V3_HOST = 0x400000000000;

struct ring_pair_t {
  chunk_t tx, rx;
  explicit ring_pair_t(machine_t &m, uint64_t size = 4096)
      : tx(alloc(m, {.size = size})), rx(alloc(m, {.size = size})) {}
};

long copyout(machine_t &m, uint32_t engine, uint32_t queue, uint32_t type, uint32_t start,
             uint32_t count, void *buffer) {
  neuron_ioctl_dma_descriptor_copyout a = {engine, queue, type, start, count, buffer};
  return m.io(NEURON_IOCTL_DMA_DESCRIPTOR_COPYOUT, &a);
}

std::vector<desc_t> numbered(size_t count, uint64_t first = 0) {
  std::vector<desc_t> d;
  for (size_t i = 0; i < count; ++i)
    d.push_back(tx_desc(first + i, static_cast<uint32_t>(i)));
  return d;
}

bool same(const desc_t &a, const desc_t &b) {
  return memcmp(&a, &b, sizeof(a)) == 0;
}

int open_as(machine_t &m, int32_t tgid, uint32_t device) {
  return mock_open(m.host, tgid, ("/dev/neuron" + std::to_string(device)).c_str(), O_RDWR);
}

}  // namespace

TEST(EngineState, Checks) {
  struct {
    const char *instance;
    uint32_t engines;
  } rows[] = {{"trn2.3xlarge", 132}, {"trn1.2xlarge", 34}, {"inf2.xlarge", 34}};
  for (auto row : rows) {
    machine_t m(row.instance);
    for (uint32_t bad : {row.engines, 132u, 133u, UINT32_MAX}) {
      neuron_dma_eng_state s;
      neuron_ioctl_dma_eng_get_state a = {bad, &s};
      EXPECT_EQ(m.io(NEURON_IOCTL_DMA_ENG_GET_STATE, &a), -EINVAL);
      EXPECT_EQ(set_engine(m, bad, 2), -EINVAL);
    }
    for (uint32_t e = 0; e < row.engines; ++e) {
      neuron_dma_eng_state s = engine_state(m, e);
      EXPECT_EQ(s.revision_id, 4u);
      EXPECT_EQ(s.max_queues, 16u);
      EXPECT_EQ(s.num_queues, 16u);
      EXPECT_TRUE(engine_runs(m, e));
    }
    bad_range_t range;
    neuron_ioctl_dma_eng_get_state a = {0, nullptr};
    a.state = reinterpret_cast<neuron_dma_eng_state *>(range.tail(16));
    EXPECT_EQ(m.io(NEURON_IOCTL_DMA_ENG_GET_STATE, &a), 4);
  }
}

TEST(EngineState, OnlyThreeValuesChangeIt) {
  machine_t m;
  for (uint32_t before : {STATE_NORMAL, STATE_ABORT}) {
    for (uint32_t ignored : {1u, 4u, 5u, 99u, UINT32_MAX}) {
      ASSERT_EQ(set_engine(m, 9, before), 0);
      EXPECT_EQ(set_engine(m, 9, ignored), 0);
      EXPECT_EQ(engine_state(m, 9).tx_state, before);
      EXPECT_EQ(engine_state(m, 9).rx_state, before);
    }
  }
  ASSERT_EQ(set_engine(m, 9, 0), 0);
  EXPECT_EQ(engine_state(m, 9).tx_state, STATE_IDLE);
  EXPECT_TRUE(engine_runs(m, 8));
}

TEST(QueueInit, ChecksInOrder) {
  machine_t m("trn1.2xlarge");
  ring_pair_t r(m);
  chunk_t small = alloc(m, {.size = 4096});  // 256 descriptors
  uint64_t tx = r.tx.handle, rx = r.rx.handle, rxc = small.handle;
  EXPECT_EQ(queue_init(m, 132, 0, tx, 64, rx, 64), -EINVAL);
  EXPECT_EQ(queue_init(m, 0, 16, tx, 64, rx, 64), -EINVAL);
  // The completion ring's size comes before the counts, the ring itself after them.
  EXPECT_EQ(queue_init(m, 0, 0, tx, 63, rx, 257, rxc), -EINVAL);
  EXPECT_EQ(queue_init(m, 0, 0, tx, 64, rx, 272, rxc), -EINVAL);
  EXPECT_EQ(queue_init(m, 0, 0, tx, 64, rx, 256, rxc), -EPERM);
  EXPECT_EQ(queue_init(m, 34, 0, tx, 64, rx, 256, rxc), -EPERM);  // before the engine
  EXPECT_EQ(queue_init(m, 34, 0, tx, 63, rx, 64), -EPERM);
  EXPECT_EQ(queue_init(m, 34, 0, tx, 64, rx, 63), -EPERM);
  EXPECT_EQ(queue_init(m, 34, 0, tx, 64, rx, 64), -EINVAL);
  EXPECT_EQ(queue_init(m, 131, 0, tx, 64, rx, 64), -EINVAL);
  // Multiples of 16 come before the range.
  EXPECT_EQ(queue_init(m, 0, 0, tx, 8, rx, 64), -EPERM);
  EXPECT_EQ(queue_init(m, 0, 0, tx, 16, rx, 64), -EINVAL);
  EXPECT_EQ(queue_init(m, 0, 0, tx, 0, rx, 64), -EINVAL);
  EXPECT_EQ(queue_init(m, 0, 0, tx, 64, rx, 16777201), -EPERM);
  EXPECT_EQ(queue_init(m, 0, 0, tx, 16777216, rx, 64), -EINVAL);
  EXPECT_EQ(queue_states(m, 0, 0).tx.length, 0u);  // none of these reached the queue
  EXPECT_EQ(queue_states(m, 0, 0).tx.sw_status, 1u);
  // Sizes of ring memory are not compared with the counts.
  EXPECT_EQ(queue_init(m, 0, 0, tx, 16777200, rx, 32), 0);
  ring_states_t s = queue_states(m, 0, 0);
  EXPECT_EQ(s.tx.length, 16777200u);
  EXPECT_EQ(s.rx.length, 32u);
  EXPECT_EQ(s.tx.base_addr, r.tx.pa);
  EXPECT_EQ(s.rx.base_addr, r.rx.pa);
  EXPECT_EQ(s.tx.sw_status, 2u);
  EXPECT_EQ(s.tx.completion_base_addr, 0u);
}

TEST(QueueInit, TransmitSideIsLiveWhenReceiveFails) {
  machine_t m;
  ring_pair_t r(m);
  ASSERT_EQ(queue_init(m, 3, 4, r.tx.handle, 128, r.rx.handle, 128), 0);
  EXPECT_EQ(queue_init(m, 3, 4, r.rx.handle, 64, r.tx.handle, 16), -EINVAL);
  ring_states_t s = queue_states(m, 3, 4);
  EXPECT_EQ(s.tx.base_addr, r.rx.pa);
  EXPECT_EQ(s.tx.length, 64u);
  EXPECT_EQ(s.rx.base_addr, r.rx.pa);
  EXPECT_EQ(s.rx.length, 128u);
}

TEST(QueueInit, BadHandlesAreNoRings) {
  machine_t m;
  ring_pair_t r(m);
  EXPECT_EQ(queue_init(m, 0, 0, 0, 0, 0, 0), 0);
  EXPECT_EQ(queue_init(m, 0, 0, 999, 3, r.rx.handle, 64, 999), 0);  // no check of absent rings
  EXPECT_EQ(queue_states(m, 0, 0).tx.length, 0u);
  EXPECT_EQ(queue_states(m, 0, 0).rx.length, 64u);
  EXPECT_EQ(copy_start(m, 0, 0, 1, 1), -EPERM);
  EXPECT_EQ(queue_init(m, 0, 0, r.tx.handle, 64, UINT64_MAX, 64), 0);
  EXPECT_EQ(copy_start(m, 0, 0, 1, 1), -EINVAL);
}

TEST(QueueInit, StartsTheRingsAnew) {
  machine_t m;
  queue_t q(m, 0, 0, 32);
  chunk_t a = alloc(m, {}), b = alloc(m, {});
  std::vector<desc_t> t(30, tx_desc(a.pa, 8)), r(30, rx_desc(b.pa, 8));
  ASSERT_EQ(q.run(t, r), 0);
  ASSERT_EQ(q.run(t, r), 0);
  ASSERT_EQ(q.start(0, 5), 0);
  ASSERT_EQ(q.init(), 0);
  ring_states_t s = queue_states(m, 0, 0);
  for (const auto &ring : {s.tx, s.rx}) {
    EXPECT_EQ(ring.head_pointer, 0u);
    EXPECT_EQ(ring.tail_pointer, 0u);
    EXPECT_EQ(ring.completion_head, 0u);
  }
}

TEST(QueueInitBatch, StopsAtTheFirstFailure) {
  machine_t m;
  ring_pair_t r(m);
  auto a = std::make_unique<neuron_ioctl_dma_queue_init_batch>();
  memset(static_cast<void *>(a.get()), 0, sizeof(*a));
  for (uint32_t i = 0; i < 256; ++i) {
    a->entries[i].eng_id = i / 16;
    a->entries[i].qid = i % 16;
    a->entries[i].tx_handle = r.tx.handle;
    a->entries[i].rx_handle = r.rx.handle;
    a->entries[i].tx_desc_count = a->entries[i].rx_desc_count = 32 + 16 * (i % 7);
  }
  a->count = 256;
  EXPECT_EQ(m.io(NEURON_IOCTL_DMA_QUEUE_INIT_BATCH, a.get()), -E2BIG);
  a->count = UINT32_MAX;
  EXPECT_EQ(m.io(NEURON_IOCTL_DMA_QUEUE_INIT_BATCH, a.get()), -E2BIG);
  a->count = 0;
  EXPECT_EQ(m.io(NEURON_IOCTL_DMA_QUEUE_INIT_BATCH, a.get()), 0);
  EXPECT_EQ(queue_states(m, 0, 0).tx.length, 0u);
  a->count = 100;
  a->entries[40].tx_desc_count = 33;
  EXPECT_EQ(m.io(NEURON_IOCTL_DMA_QUEUE_INIT_BATCH, a.get()), -EPERM);
  for (uint32_t i = 0; i < 100; ++i)
    EXPECT_EQ(queue_states(m, i / 16, i % 16).tx.length, i < 40 ? 32 + 16 * (i % 7) : 0) << i;
  a->entries[40].tx_desc_count = 32;
  a->entries[70].eng_id = 132;
  EXPECT_EQ(m.io(NEURON_IOCTL_DMA_QUEUE_INIT_BATCH, a.get()), -EINVAL);
  a->entries[70].eng_id = 70 / 16;
  a->count = 255;
  EXPECT_EQ(m.io(NEURON_IOCTL_DMA_QUEUE_INIT_BATCH, a.get()), 0);
  EXPECT_EQ(queue_states(m, 15, 14).tx.length, 32u + 16 * (254 % 7));
  EXPECT_EQ(queue_states(m, 15, 15).tx.length, 0u);
  // Not gated, and the whole argument has to be readable.
  EXPECT_EQ(mock_ioctl(m.host, PID + 1, m.fd, NEURON_IOCTL_DMA_QUEUE_INIT_BATCH, a.get()), 0);
  bad_range_t range;
  memset(range.base, 0, range.good);
  EXPECT_EQ(m.io(NEURON_IOCTL_DMA_QUEUE_INIT_BATCH, range.tail(512)), -EACCES);
}

TEST(QueueRelease, DoesNothing) {
  machine_t m;
  queue_t q(m, 0, 0);
  neuron_ioctl_dma_queue_release a = {0, 0};
  EXPECT_EQ(m.io(NEURON_IOCTL_DMA_QUEUE_RELEASE, &a), 0);
  a = {UINT32_MAX, UINT32_MAX};
  EXPECT_EQ(m.io(NEURON_IOCTL_DMA_QUEUE_RELEASE, &a), 0);
  EXPECT_EQ(queue_states(m, 0, 0).tx.length, 64u);
}

TEST(CopyStart, ChecksInOrder) {
  machine_t m("trn1.2xlarge");
  EXPECT_EQ(copy_start(m, 132, 99, 0, 0), -EINVAL);
  EXPECT_EQ(copy_start(m, 34, 0, 0, 0), -EPERM);  // absent
  EXPECT_EQ(copy_start(m, 131, 0, 0, 0), -EPERM);
  EXPECT_EQ(copy_start(m, 0, 16, 0, 0), -EPERM);
  EXPECT_EQ(copy_start(m, 0, 0, 1, 1), -EPERM);   // no TX ring
  EXPECT_EQ(copy_start(m, 0, 0, 0, 1), -EINVAL);  // no RX ring
  queue_t q(m, 0, 0, 32);
  EXPECT_EQ(copy_start(m, 0, 0, 33, 0), -EPERM);
  EXPECT_EQ(copy_start(m, 0, 0, 0, 33), -EPERM);
  EXPECT_EQ(copy_start(m, 0, 0, 1, 0), -EINVAL);
  EXPECT_EQ(copy_start(m, 0, 0, 0, 0), -EINVAL);
  EXPECT_EQ(queue_states(m, 0, 0).rx.tail_pointer, 0u);
  EXPECT_EQ(copy_start(m, 0, 0, 0, 31), 0);
  EXPECT_EQ(queue_states(m, 0, 0).rx.tail_pointer, 31u);
}

TEST(AckCompleted, Checks) {
  machine_t m;
  queue_t q(m, 0, 0, 48);  // no power of two
  auto ack = [&](uint32_t engine, uint32_t queue, uint32_t count) {
    neuron_ioctl_dma_ack_completed a = {engine, queue, count};
    return m.io(NEURON_IOCTL_DMA_ACK_COMPLETED, &a);
  };
  EXPECT_EQ(ack(132, 0, 1), -EINVAL);
  EXPECT_EQ(ack(0, 16, 1), -EINVAL);
  EXPECT_EQ(ack(0, 0, 5), 0);
  EXPECT_EQ(ack(0, 1, 5), 0);
  EXPECT_EQ(queue_states(m, 0, 0).tx.head_pointer, 0u);
}

TEST(QueueGetState, Checks) {
  machine_t m("trn1.2xlarge");
  ring_states_t s;
  for (auto [engine, queue] : {std::pair{34u, 0u}, {132u, 0u}, {UINT32_MAX, 0u}, {0u, 16u}}) {
    neuron_ioctl_dma_queue_get_state a = {engine, queue, &s.tx, &s.rx};
    EXPECT_EQ(m.io(NEURON_IOCTL_DMA_QUEUE_GET_STATE, &a), -EINVAL);
  }
  bad_range_t range;
  auto *bad = reinterpret_cast<neuron_dma_queue_state *>(range.tail(40));
  neuron_ioctl_dma_queue_get_state a = {0, 0, bad, &s.rx};
  EXPECT_EQ(m.io(NEURON_IOCTL_DMA_QUEUE_GET_STATE, &a), 8);
  a = {0, 0, &s.tx, bad};
  EXPECT_EQ(m.io(NEURON_IOCTL_DMA_QUEUE_GET_STATE, &a), 8);
}

TEST(CopyDescriptors, ChecksInOrder) {
  machine_t m;
  chunk_t ring = alloc(m, {.size = 4096});
  auto d = numbered(16);
  EXPECT_EQ(copy_descs(m, 99, 0, d, 7), -EINVAL);
  EXPECT_EQ(copy_descs(m, ring.handle, 4096 - 255, d, 7), -EINVAL);
  EXPECT_EQ(copy_descs(m, ring.handle, UINT64_MAX - 15, d, 0), -EINVAL);
  EXPECT_EQ(copy_descs(m, ring.handle, 4096 - 256, d, 7), -EPERM);
  EXPECT_EQ(copy_descs(m, ring.handle, 4096 - 256, d, 2), -EPERM);
  EXPECT_EQ(copy_descs(m, ring.handle, 4096, {}, 7), 0);  // nothing to look at
  EXPECT_EQ(dma_read(m, ring.handle, 0, 4096), std::vector<uint8_t>(4096));
  EXPECT_EQ(copy_descs(m, ring.handle, 4096 - 256, d, 0), 0);
  EXPECT_EQ(copy_descs(m, ring.handle, 24, {d[5]}, 1), 0);  // any offset
  auto back = dma_read(m, ring.handle, 0, 4096);
  EXPECT_EQ(memcmp(back.data() + 4096 - 256, d.data(), 256), 0);
  EXPECT_EQ(memcmp(back.data() + 24, &d[5], 16), 0);
  // The 32-bit form writes the same.
  neuron_ioctl_dma_copy_descriptors old = {ring.handle, d.data(), 16, 512, 1};
  EXPECT_EQ(m.io(NEURON_IOCTL_DMA_COPY_DESCRIPTORS, &old), 0);
  EXPECT_EQ(memcmp(dma_read(m, ring.handle, 512, 256).data(), d.data(), 256), 0);
  EXPECT_EQ(mock_ioctl(m.host, PID + 1, m.fd, NEURON_IOCTL_DMA_COPY_DESCRIPTORS, &old), -EACCES);
  // A bad pointer is found before a bad type; a bad type before a bad address.
  bad_range_t range;
  neuron_ioctl_dma_copy_descriptors64 a = {};
  a.mem_handle = ring.handle;
  a.buffer = range.tail(100);
  a.num_descs = 16;
  a.queue_type = 7;
  EXPECT_EQ(m.io(NEURON_IOCTL_DMA_COPY_DESCRIPTORS64, &a), 256 - 100);
  EXPECT_EQ(copy_descs(m, ring.handle, 0, {tx_desc(V3_HOST, 4)}, 7), -EPERM);
  EXPECT_EQ(copy_descs(m, ring.handle, 0, {tx_desc(V3_HOST, 4)}, 0), -EINVAL);
}

// 4096 descriptors at a time: what went in before a failure stays.
TEST(CopyDescriptors, PiecesBeforeAFailureStay) {
  for (bool fault : {true, false}) {
    machine_t m;
    chunk_t ring = alloc(m, {.size = 3 * 65536});
    auto d = numbered(3 * 4096);
    neuron_ioctl_dma_copy_descriptors64 a = {};
    a.mem_handle = ring.handle;
    a.num_descs = 3 * 4096;
    bad_range_t range(2 * 65536);
    if (fault) {  // the buffer ends inside the second piece
      a.buffer = range.tail(65536 + 4096);
      memcpy(a.buffer, d.data(), 65536 + 4096);
      EXPECT_EQ(m.io(NEURON_IOCTL_DMA_COPY_DESCRIPTORS64, &a), 65536 - 4096);
    } else {
      d[5000].address = V3_HOST + 0x200000000;
      a.buffer = d.data();
      EXPECT_EQ(m.io(NEURON_IOCTL_DMA_COPY_DESCRIPTORS64, &a), -EINVAL);
    }
    auto back = dma_read(m, ring.handle, 0, 3 * 65536);
    EXPECT_EQ(memcmp(back.data(), d.data(), 65536), 0);
    EXPECT_EQ(std::vector<uint8_t>(back.begin() + 65536, back.end()),
              std::vector<uint8_t>(2 * 65536));
  }
}

TEST(CopyDescriptors, HostAddressesV3) {
  machine_t m;
  chunk_t ring = alloc(m, {}), host = alloc(m, {.size = 8192, .host = true});
  ASSERT_NE(host.pa & V3_HOST, 0u);
  auto put = [&](uint64_t address) {
    return copy_descs(m, ring.handle, 0, {tx_desc(address, 4)}, 0);
  };
  EXPECT_EQ(put(host.pa), 0);
  EXPECT_EQ(put(host.pa + 8191), 0);
  EXPECT_EQ(put(host.pa + 8192), -EINVAL);
  EXPECT_EQ(put(host.pa | 0x10000000000000), -EINVAL);  // bit 46 alone decides
  EXPECT_EQ(put(host.pa | 1ull << 47), -EINVAL);
  EXPECT_EQ(put(1ull << 46), -EINVAL);
  for (uint64_t other : {0ull, 0x2000000000ull, 1ull << 45, 1ull << 47, 0x123456789abull})
    EXPECT_EQ(put(other), 0) << std::hex << other;
  ASSERT_EQ(mem_free(m, host.handle), 0);
  EXPECT_EQ(put(host.pa), -EINVAL);
}

TEST(CopyDescriptors, HostAddressesV2) {
  machine_t m("trn1.2xlarge");
  chunk_t ring = alloc(m, {}), host = alloc(m, {.size = 8192, .host = true});
  auto put = [&](uint64_t address) {
    return copy_descs(m, ring.handle, 0, {tx_desc(address, 4)}, 1);
  };
  EXPECT_EQ(put(host.pa), 0);
  EXPECT_EQ(put(host.pa + 8192), -EINVAL);
  EXPECT_EQ(put(V2_HOST), -EINVAL);
  EXPECT_EQ(put(V2_HOST | 0xfffffffffff), -EINVAL);
  EXPECT_EQ(put(host.pa | 1ull << 49), -EINVAL);  // above the five bits
  // Another of bits 45 to 48 set: not the host window.
  for (uint64_t bit = 45; bit <= 48; ++bit)
    EXPECT_EQ(put(V2_HOST | 1ull << bit), 0) << bit;
  EXPECT_EQ(put(1ull << 46), 0);
  EXPECT_EQ(put(0xfffc0000000), 0);
}

// Chunks of every device count that the caller is attached to.
TEST(CopyDescriptors, HostMemoryOfOtherDevices) {
  machine_t m("trn2.48xlarge");
  chunk_t ring = alloc(m, {});
  int mine = open_as(m, PID, 7), theirs = open_as(m, PID + 1, 9);
  chunk_t seven = alloc_as(m.host, PID, mine, {.host = true});
  chunk_t nine = alloc_as(m.host, PID + 1, theirs, {.host = true});
  EXPECT_EQ(copy_descs(m, ring.handle, 0, {tx_desc(seven.pa, 4)}, 0), 0);
  EXPECT_EQ(copy_descs(m, ring.handle, 0, {tx_desc(nine.pa, 4)}, 0), -EINVAL);
  int also = open_as(m, PID, 9);
  EXPECT_EQ(copy_descs(m, ring.handle, 0, {tx_desc(nine.pa, 4)}, 0), 0);
  EXPECT_EQ(mock_close(m.host, PID, also), 0);
  EXPECT_EQ(copy_descs(m, ring.handle, 0, {tx_desc(nine.pa, 4)}, 0), -EINVAL);
}

TEST(DescriptorCopyout, ChecksInOrder) {
  machine_t m("trn1.2xlarge");
  desc_t out[64];
  EXPECT_EQ(copyout(m, 132, 99, 9, 0, 0, out), -EINVAL);
  EXPECT_EQ(copyout(m, 34, 0, 0, 0, 1, out), -EINVAL);
  EXPECT_EQ(copyout(m, 0, 16, 0, 0, 1, out), -EINVAL);
  EXPECT_EQ(copyout(m, 0, 0, 0, 0, 1, out), -EFBIG);  // no ring: length 0
  queue_t q(m, 0, 0, 64);
  EXPECT_EQ(copyout(m, 0, 0, 0, 0, 0, out), -EINVAL);
  EXPECT_EQ(copyout(m, 0, 0, 2, 0, 1, out), -EINVAL);
  EXPECT_EQ(copyout(m, 0, 0, 2, 0, 65, out), -EINVAL);
  EXPECT_EQ(copyout(m, 0, 0, 0, 1, 64, out), -EFBIG);
  EXPECT_EQ(copyout(m, 0, 0, 1, UINT32_MAX, 1, out), -EFBIG);
  EXPECT_EQ(copyout(m, 0, 0, 1, 0, 64, out), 0);
  bad_range_t range;
  EXPECT_EQ(copyout(m, 0, 0, 0, 0, 4, range.tail(50)), 64 - 50);
  ASSERT_EQ(mem_free(m, q.tx.handle), 0);
  EXPECT_EQ(copyout(m, 0, 0, 0, 0, 1, out), -EINVAL);  // the ring lies in no chunk now
  EXPECT_EQ(copyout(m, 0, 0, 1, 0, 1, out), 0);
}

TEST(DescriptorCopyout, HostRingsByIndexDeviceRingsFromTheStart) {
  machine_t m;
  for (bool host : {true, false}) {
    queue_t q(m, host ? 1 : 2, 0, 64, host);
    auto t = numbered(64, 1000), r = numbered(64, 2000);
    ASSERT_EQ(copy_descs(m, q.tx.handle, 0, t, 0), 0);
    ASSERT_EQ(copy_descs(m, q.rx.handle, 0, r, 1), 0);
    std::vector<desc_t> out(20);
    ASSERT_EQ(copyout(m, q.engine, 0, 0, 30, 20, out.data()), 0);
    for (size_t i = 0; i < 20; ++i)
      EXPECT_TRUE(same(out[i], t[(host ? 30 : 0) + i])) << i;
    ASSERT_EQ(copyout(m, q.engine, 0, 1, 0, 20, out.data()), 0);
    for (size_t i = 0; i < 20; ++i)
      EXPECT_TRUE(same(out[i], r[i])) << i;
  }
}

TEST(DescriptorCopyout, Limits) {
  machine_t m;
  // Rings may be longer than their memory; what lies behind is somebody else's.
  ring_pair_t r(m, 4096);
  ASSERT_EQ(queue_init(m, 0, 0, r.tx.handle, 512, r.rx.handle, 512), 0);
  std::vector<desc_t> out(512 * 1024 + 16);
  EXPECT_EQ(copyout(m, 0, 0, 0, 0, 256, out.data()), 0);
  EXPECT_EQ(copyout(m, 0, 0, 0, 0, 257, out.data()), -EINVAL);
  // 4 MiB of a device ring at once.
  uint32_t count = 262144 + 16;
  ring_pair_t big(m, count * 16ull);
  ASSERT_EQ(queue_init(m, 0, 1, big.tx.handle, count, big.rx.handle, count), 0);
  EXPECT_EQ(copyout(m, 0, 1, 0, 0, 262144, out.data()), 0);
  EXPECT_EQ(copyout(m, 0, 1, 0, 0, 262145, out.data()), -ENOMEM);
}

// The last close of a process moves its queues to a ring of the driver's, but for those that
// sequencers own and those of the copy engines.
TEST(Close, QueuesOfTheProcessAreInitialisedAgain) {
  struct {
    const char *instance;
    uint32_t engines, core_engines;
    std::vector<uint32_t> sequencer_lanes;
  } rows[] = {{"trn2.3xlarge", 132, 128, {0, 1, 2, 3, 4, 7, 8}},
              {"trn1.2xlarge", 34, 32, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}};
  for (const auto &row : rows) {
    machine_t m(row.instance);
    int fd = open_as(m, PID + 1, 0), second = open_as(m, PID + 1, 0);
    ring_pair_t r(m);
    auto init_as = [&](int32_t tgid, uint32_t e, uint32_t q) {
      neuron_ioctl_dma_queue_init a = {};
      a.eng_id = e;
      a.qid = q;
      a.tx_handle = r.tx.handle;
      a.rx_handle = r.rx.handle;
      a.tx_desc_count = a.rx_desc_count = 96;
      return mock_ioctl(m.host, tgid, tgid == PID ? m.fd : fd, NEURON_IOCTL_DMA_QUEUE_INIT, &a);
    };
    for (uint32_t e = 0; e < row.engines; ++e)
      for (uint32_t q : {0u, 13u, 14u, 15u})
        ASSERT_EQ(init_as(q == 13 ? PID : PID + 1, e, q), 0);
    ASSERT_EQ(mock_close(m.host, PID + 1, second), 0);  // one left
    EXPECT_EQ(queue_states(m, 0, 0).tx.length, 96u);
    ASSERT_EQ(mock_close(m.host, PID + 1, fd), 0);
    uint64_t dummy = queue_states(m, 0, 0).tx.base_addr;
    EXPECT_NE(dummy, r.tx.pa);
    for (uint32_t e = 0; e < row.engines; ++e) {
      for (uint32_t q : {0u, 13u, 14u, 15u}) {
        const auto &lanes = row.sequencer_lanes;
        bool sequencer = q == 14 && std::find(lanes.begin(), lanes.end(), e % 16) != lanes.end();
        bool moved = q != 13 && e < row.core_engines && !sequencer;
        ring_states_t s = queue_states(m, e, q);
        EXPECT_EQ(s.tx.length, moved ? 64u : 96u) << e << " " << q;
        EXPECT_EQ(s.rx.length, moved ? 64u : 96u) << e << " " << q;
        EXPECT_EQ(s.tx.base_addr, moved ? dummy : r.tx.pa) << e << " " << q;
        EXPECT_EQ(s.rx.base_addr, moved ? dummy : r.rx.pa) << e << " " << q;
        EXPECT_EQ(s.tx.head_pointer, 0u);
        EXPECT_EQ(s.tx.tail_pointer, 0u);
      }
    }
  }
}

// A request that fails later has taken the queue over all the same.
TEST(Close, FailedInitTakesTheQueue) {
  machine_t m;
  int fd = open_as(m, PID + 1, 0);
  queue_t q(m, 0, 0, 96);
  neuron_ioctl_dma_queue_init a = {};
  a.tx_handle = q.tx.handle;
  a.tx_desc_count = 33;
  EXPECT_EQ(mock_ioctl(m.host, PID + 1, fd, NEURON_IOCTL_DMA_QUEUE_INIT, &a), -EPERM);
  EXPECT_EQ(queue_states(m, 0, 0).tx.length, 96u);
  ASSERT_EQ(mock_close(m.host, PID + 1, fd), 0);
  EXPECT_EQ(queue_states(m, 0, 0).tx.length, 64u);
}

// Afterwards the queue is nobody's: a later close of the same process leaves it alone.
TEST(Close, QueuesChangeHandsOnce) {
  machine_t m;
  ring_pair_t r(m);
  for (uint32_t length : {64u, 96u}) {
    int fd = open_as(m, PID + 1, 0);
    if (length == 64) {
      neuron_ioctl_dma_queue_init a = {};
      a.eng_id = 20;
      ASSERT_EQ(mock_ioctl(m.host, PID + 1, fd, NEURON_IOCTL_DMA_QUEUE_INIT, &a), 0);
    } else {
      ASSERT_EQ(queue_init(m, 20, 0, r.tx.handle, 96, r.rx.handle, 96), 0);
    }
    ASSERT_EQ(mock_close(m.host, PID + 1, fd), 0);
    EXPECT_EQ(queue_states(m, 20, 0).tx.length, length);
  }
}

// The engines stay as they are.
TEST(Close, LeavesEngineStates) {
  machine_t m;
  int fd = open_as(m, PID + 1, 0);
  neuron_ioctl_dma_eng_set_state a = {5, STATE_ABORT};
  ASSERT_EQ(mock_ioctl(m.host, PID + 1, fd, NEURON_IOCTL_DMA_ENG_SET_STATE, &a), 0);
  ASSERT_EQ(mock_close(m.host, PID + 1, fd), 0);
  EXPECT_TRUE(engine_aborted(m, 5));
}
