// SPDX-License-Identifier: Apache-2.0
// Section 6.3: DMA engines and queues. 4: what closing does to queues.
#include <unistd.h>

#include "tests/conformance/dma.h"

CONFORMANCE_SUITE(S6_3_QueueInit, V2_AND_V3);
CONFORMANCE_SUITE(S6_3_Batch, V2_AND_V3);
CONFORMANCE_SUITE(S6_3_Engine, V2_AND_V3);
CONFORMANCE_SUITE(S6_3_Absent, "trn1.2xlarge");
CONFORMANCE_SUITE(S4_CloseQueues, V2_AND_V3);

namespace {

struct engine_t {
  long rc;
  neuron_dma_eng_state state;
};

engine_t engine_state(const fd_t &fd, uint32_t engine) {
  engine_t out = {};
  neuron_ioctl_dma_eng_get_state arg = {engine, &out.state};
  out.rc = fd.io(NEURON_IOCTL_DMA_ENG_GET_STATE, &arg);
  return out;
}

long set_state(const fd_t &fd, uint32_t engine, uint32_t state) {
  neuron_ioctl_dma_eng_set_state arg = {engine, state};
  return fd.io(NEURON_IOCTL_DMA_ENG_SET_STATE, &arg);
}

long ack(const fd_t &fd, uint32_t engine, uint32_t queue, uint32_t count) {
  neuron_ioctl_dma_ack_completed arg = {engine, queue, count};
  return fd.io(NEURON_IOCTL_DMA_ACK_COMPLETED, &arg);
}

rings_t good_rings(const fd_t &fd) {
  rings_t r;
  r.tx = alloc(fd, {.size = 16 * PAGE}).handle;
  r.rx = alloc(fd, {.size = 16 * PAGE}).handle;
  return r;
}

}  // namespace

TEST_P(S6_3_QueueInit, Effect) {
  for (bool host : {false, true}) {
    SCOPED_TRACE(host);
    chunk_t tx = alloc(dev, {.size = 8 * PAGE, .host = host});
    chunk_t rx = alloc(dev, {.size = 8 * PAGE, .host = host});
    rings_t r = {
        .engine = 3, .queue = 5, .tx_count = 64, .rx_count = 128, .tx = tx.handle, .rx = rx.handle};
    ASSERT_EQ(queue_init(dev, r), 0);
    queue_t q = queue_state(dev, 3, 5);
    EXPECT_EQ(q.rc, 0);
    EXPECT_EQ(q.tx.base_addr, tx.pa);
    EXPECT_EQ(q.rx.base_addr, rx.pa);
    EXPECT_EQ(q.tx.length, 64u);
    EXPECT_EQ(q.rx.length, 128u);
    for (const neuron_dma_queue_state &s : {q.tx, q.rx}) {
      EXPECT_EQ(s.sw_status, 2u);  // enabled
      EXPECT_EQ(s.head_pointer, 0u);
      EXPECT_EQ(s.tail_pointer, 0u);
      EXPECT_EQ(s.completion_head, 0u);
    }
  }
}

TEST_P(S6_3_QueueInit, Check01_Gate) {
  NEEDS_BACKSTAGE();
  EXPECT_EQ(queue_init(inherited(dev, OTHER), good_rings(dev)), -EACCES);
}

TEST_P(S6_3_QueueInit, Check02_CopyIn) {
  hole_t hole;
  EXPECT_EQ(io(NEURON_IOCTL_DMA_QUEUE_INIT, hole.hole()), -EACCES);
}

TEST_P(S6_3_QueueInit, Check03_Engine) {
  rings_t r = good_rings(dev);
  for (uint32_t engine : {132u, 255u, UINT32_MAX}) {
    r.engine = engine;
    EXPECT_EQ(queue_init(dev, r), -EINVAL);
    // Before the counts.
    r.tx_count = 33;
    EXPECT_EQ(queue_init(dev, r), -EINVAL);
    r.tx_count = 64;
  }
}

TEST_P(S6_3_QueueInit, Check04_Queue) {
  rings_t r = good_rings(dev);
  for (uint32_t queue : {16u, 255u, UINT32_MAX}) {
    r.queue = queue;
    EXPECT_EQ(queue_init(dev, r), -EINVAL);
  }
  r.tx_count = 33;
  EXPECT_EQ(queue_init(dev, r), -EINVAL);
  r.tx_count = 64;
  r.queue = 15;
  EXPECT_EQ(queue_init(dev, r), 0);
}

TEST_P(S6_3_QueueInit, Check05_CompletionRingTooSmall) {
  rings_t r = good_rings(dev);
  r.rxc = alloc(dev).handle;  // 256 descriptors
  r.rx_count = 272;
  EXPECT_EQ(queue_init(dev, r), -EINVAL);
  // Before the count of the TX ring.
  r.tx_count = 33;
  EXPECT_EQ(queue_init(dev, r), -EINVAL);
}

TEST_P(S6_3_QueueInit, Check07_TxCountMultipleOf16) {
  rings_t r = good_rings(dev);
  for (uint32_t count : {33u, 63u, 72u, 8u}) {
    r.tx_count = count;
    EXPECT_EQ(queue_init(dev, r), -EPERM) << count;
  }
}

TEST_P(S6_3_QueueInit, Check09_RxCountMultipleOf16) {
  rings_t r = good_rings(dev);
  r.rx_count = 65;
  EXPECT_EQ(queue_init(dev, r), -EPERM);
  // Before the range of the TX count.
  r.tx_count = 16;
  EXPECT_EQ(queue_init(dev, r), -EPERM);
}

TEST_P(S6_3_QueueInit, Check10_CompletionRing) {
  rings_t r = good_rings(dev);
  r.rxc = alloc(dev).handle;
  EXPECT_EQ(queue_init(dev, r), -EPERM);
  // Before the range of the TX count.
  r.tx_count = 16;
  EXPECT_EQ(queue_init(dev, r), -EPERM);
}

TEST_P(S6_3_QueueInit, Check12_TxRange) {
  rings_t r = good_rings(dev);
  for (uint32_t count : {0u, 16u, 16777216u, 0xfffffff0u}) {
    r.tx_count = count;
    EXPECT_EQ(queue_init(dev, r), -EINVAL) << count;
  }
  // Ring memory is not compared with the counts.
  r.tx_count = 16777200;
  EXPECT_EQ(queue_init(dev, r), 0);
  EXPECT_EQ(queue_state(dev, 0, 0).tx.length, 16777200u);
  r.tx_count = 32;
  EXPECT_EQ(queue_init(dev, r), 0);
}

TEST_P(S6_3_QueueInit, Check13_RxRangeLeavesTheTxQueueLive) {
  rings_t r = good_rings(dev);
  r.queue = 2;
  ASSERT_EQ(queue_init(dev, r), 0);
  r.tx_count = 96;
  for (uint32_t count : {0u, 16u, 16777216u}) {
    r.rx_count = count;
    EXPECT_EQ(queue_init(dev, r), -EINVAL) << count;
  }
  EXPECT_EQ(queue_state(dev, 0, 2).tx.length, 96u);
  EXPECT_EQ(queue_state(dev, 0, 2).rx.length, 64u);
}

TEST_P(S6_3_QueueInit, Handles_InvalidMeansNoRing) {
  rings_t r = good_rings(dev);
  r.tx = BAD_HANDLE;
  r.rx = BAD_HANDLE + 1;
  EXPECT_EQ(queue_init(dev, r), 0);
  r.tx = r.rx = 0;
  EXPECT_EQ(queue_init(dev, r), 0);
}

TEST_P(S6_3_QueueInit, Owner_AnyProcessMayInitAgain) {
  NEEDS_BACKSTAGE();
  rings_t r = good_rings(dev);
  ASSERT_EQ(queue_init(dev, r), 0);
  r.tx_count = 32;
  EXPECT_EQ(queue_init(open(OTHER), r), 0);
  EXPECT_EQ(queue_state(dev, 0, 0).tx.length, 32u);
}

TEST_P(S6_3_QueueInit, Again_ResetsTheRings) {
  rings_t r = good_rings(dev);
  ASSERT_EQ(queue_init(dev, r), 0);
  r.tx_count = 48;
  r.rx_count = 80;
  ASSERT_EQ(queue_init(dev, r), 0);
  EXPECT_EQ(queue_state(dev, 0, 0).tx.length, 48u);
  EXPECT_EQ(queue_state(dev, 0, 0).rx.length, 80u);
}

TEST_P(S6_3_QueueInit, Release_DoesNothing) {
  rings_t r = good_rings(dev);
  ASSERT_EQ(queue_init(dev, r), 0);
  neuron_ioctl_dma_queue_release arg = {0, 0};
  EXPECT_EQ(io(NEURON_IOCTL_DMA_QUEUE_RELEASE, &arg), 0);
  EXPECT_EQ(queue_state(dev, 0, 0).tx.length, 64u);
}

TEST_P(S6_3_Batch, InitsAll) {
  rings_t r = good_rings(dev);
  auto arg = std::make_unique<neuron_ioctl_dma_queue_init_batch>();
  arg->count = 255;
  for (uint32_t i = 0; i < 255; ++i) {
    r.engine = i / 16;
    r.queue = i % 16;
    r.tx_count = 32 + 16 * (i % 3);
    arg->entries[i] = queue_entry(r);
  }
  EXPECT_EQ(io(NEURON_IOCTL_DMA_QUEUE_INIT_BATCH, arg.get()), 0);
  for (uint32_t i = 0; i < 255; ++i)
    EXPECT_EQ(queue_state(dev, i / 16, i % 16).tx.length, 32 + 16 * (i % 3)) << i;
}

TEST_P(S6_3_Batch, Checks) {
  hole_t hole;
  EXPECT_EQ(io(NEURON_IOCTL_DMA_QUEUE_INIT_BATCH, hole.hole()), -EACCES);
  EXPECT_EQ(io(NEURON_IOCTL_DMA_QUEUE_INIT_BATCH, hole.base), -EACCES);  // a page of it
  auto arg = std::make_unique<neuron_ioctl_dma_queue_init_batch>();
  for (uint32_t count : {256u, UINT32_MAX}) {
    arg->count = count;
    EXPECT_EQ(io(NEURON_IOCTL_DMA_QUEUE_INIT_BATCH, arg.get()), -E2BIG);
  }
  arg->count = 0;
  EXPECT_EQ(io(NEURON_IOCTL_DMA_QUEUE_INIT_BATCH, arg.get()), 0);
}

TEST_P(S6_3_Batch, StopsAtTheFirstFailure) {
  rings_t r = good_rings(dev);
  auto arg = std::make_unique<neuron_ioctl_dma_queue_init_batch>();
  arg->count = 3;
  for (uint32_t i = 0; i < 3; ++i) {
    r.queue = i;
    ASSERT_EQ(queue_init(dev, r), 0);
    r.tx_count = i == 1 ? 33 : 96;
    arg->entries[i] = queue_entry(r);
    r.tx_count = 64;
  }
  EXPECT_EQ(io(NEURON_IOCTL_DMA_QUEUE_INIT_BATCH, arg.get()), -EPERM);
  EXPECT_EQ(queue_state(dev, 0, 0).tx.length, 96u);
  EXPECT_EQ(queue_state(dev, 0, 1).tx.length, 64u);
  EXPECT_EQ(queue_state(dev, 0, 2).tx.length, 64u);
}

TEST_P(S6_3_Engine, GetState) {
  for (uint32_t engine = 0; engine < 140; ++engine) {
    engine_t e = engine_state(dev, engine);
    EXPECT_EQ(e.rc, engine < (v2() ? 34u : 132u) ? 0 : -EINVAL) << engine;
    if (e.rc == 0) {
      EXPECT_EQ(e.state.revision_id, 4u);
      EXPECT_EQ(e.state.max_queues, 16u);
      EXPECT_EQ(e.state.num_queues, 16u);
    }
  }
  neuron_ioctl_dma_eng_get_state arg = {0, nullptr};
  EXPECT_EQ(io(NEURON_IOCTL_DMA_ENG_GET_STATE, &arg), 20);
  arg.eng_id = 132;
  EXPECT_EQ(io(NEURON_IOCTL_DMA_ENG_GET_STATE, &arg), -EINVAL);
}

TEST_P(S6_3_Engine, SetState) {
  // Written 0, 2 or 3; read back by the rule of 6.2: no field set is idle.
  struct {
    uint32_t set, get;
  } rows[] = {{2, 2}, {0, 1}, {2, 2}, {3, 3}, {2, 2}};
  for (const auto &row : rows) {
    EXPECT_EQ(set_state(dev, 7, row.set), 0);
    EXPECT_EQ(engine_state(dev, 7).state.tx_state, row.get) << row.set;
    EXPECT_EQ(engine_state(dev, 7).state.rx_state, row.get) << row.set;
  }
  for (uint32_t ignored : {1u, 4u, 5u, UINT32_MAX}) {
    EXPECT_EQ(set_state(dev, 7, ignored), 0);
    EXPECT_EQ(engine_state(dev, 7).state.tx_state, 2u);
  }
}

TEST_P(S6_3_Engine, SetState_Checks) {
  NEEDS_BACKSTAGE();
  EXPECT_EQ(set_state(dev, 132, 2), -EINVAL);
  EXPECT_EQ(set_state(dev, UINT32_MAX, 2), -EINVAL);
  EXPECT_EQ(set_state(inherited(dev, OTHER), 0, 2), -EACCES);
}

TEST_P(S6_3_Engine, QueueGetState_Checks) {
  EXPECT_EQ(queue_state(dev, 132, 0).rc, -EINVAL);
  EXPECT_EQ(queue_state(dev, 0, 16).rc, -EINVAL);
  EXPECT_EQ(queue_state(dev, UINT32_MAX, UINT32_MAX).rc, -EINVAL);
  neuron_dma_queue_state state = {};
  neuron_ioctl_dma_queue_get_state arg = {0, 0, nullptr, &state};
  EXPECT_EQ(io(NEURON_IOCTL_DMA_QUEUE_GET_STATE, &arg), 48);
  arg = {0, 0, &state, nullptr};
  EXPECT_EQ(io(NEURON_IOCTL_DMA_QUEUE_GET_STATE, &arg), 48);
}

TEST_P(S6_3_Engine, AckCompleted) {
  NEEDS_BACKSTAGE();
  rings_t r = good_rings(dev);
  ASSERT_EQ(queue_init(dev, r), 0);
  EXPECT_EQ(ack(inherited(dev, OTHER), 0, 0, 1), -EACCES);
  EXPECT_EQ(ack(dev, 132, 0, 1), -EINVAL);
  EXPECT_EQ(ack(dev, 0, 16, 1), -EINVAL);
  EXPECT_EQ(ack(dev, 0, 0, 1), 0);
  // No effect on the hardware.
  EXPECT_EQ(queue_state(dev, 0, 0).tx.head_pointer, 0u);
  EXPECT_EQ(queue_state(dev, 0, 0).tx.tail_pointer, 0u);
  // A ring length that is no power of two.
  r.tx_count = 48;
  ASSERT_EQ(queue_init(dev, r), 0);
  EXPECT_EQ(ack(dev, 0, 0, 1), 0);
}

// v2 has 34 engines; the numbers up to 131 exist in the interface only.
TEST_P(S6_3_Absent, Engines) {
  rings_t r = good_rings(dev);
  for (uint32_t engine : {34u, 100u, 131u}) {
    SCOPED_TRACE(engine);
    r.engine = engine;
    r.tx_count = 64;
    EXPECT_EQ(queue_init(dev, r), -EINVAL);
    r.tx_count = 33;  // the multiple comes first
    EXPECT_EQ(queue_init(dev, r), -EPERM);
    EXPECT_EQ(set_state(dev, engine, 2), -EINVAL);
    EXPECT_EQ(engine_state(dev, engine).rc, -EINVAL);
    EXPECT_EQ(queue_state(dev, engine, 0).rc, -EINVAL);
    EXPECT_EQ(copy_start(dev, engine, 0, 0, 1), -EPERM);  // no queues
  }
}

// Queues of a process that leaves get a ring of 64 dummy descriptors.
TEST_P(S4_CloseQueues, Row3_QueuesOfTheProcess) {
  NEEDS_BACKSTAGE();
  fd_t other = open(OTHER);
  rings_t mine = good_rings(dev), theirs = good_rings(other);
  theirs.tx_count = theirs.rx_count = 96;
  mine.engine = theirs.engine = 1;
  mine.queue = 4;
  ASSERT_EQ(queue_init(dev, mine), 0);
  theirs.queue = 3;
  ASSERT_EQ(queue_init(other, theirs), 0);
  uint64_t base = queue_state(dev, 1, 3).tx.base_addr;
  // Kept: queue 14, a hardware sequencer's here, and engines above the cores' own.
  theirs.queue = 14;
  ASSERT_EQ(queue_init(other, theirs), 0);
  theirs.queue = 5;
  theirs.engine = v2() ? 32 : 128;
  ASSERT_EQ(queue_init(other, theirs), 0);
  EXPECT_EQ(other.close(), 0);

  queue_t q = queue_state(dev, 1, 3);
  EXPECT_EQ(q.tx.length, 64u);
  EXPECT_EQ(q.rx.length, 64u);
  EXPECT_NE(q.tx.base_addr, base);
  EXPECT_EQ(queue_state(dev, 1, 4).tx.base_addr, pa_of(dev, mine.tx).pa);
  EXPECT_EQ(queue_state(dev, 1, 14).tx.length, 96u);
  EXPECT_EQ(queue_state(dev, theirs.engine, 5).tx.length, 96u);
}

// A queue belongs to whoever asked last, even when the request was refused.
TEST_P(S4_CloseQueues, Row3_OwnerIsSetBeforeTheChecks) {
  NEEDS_BACKSTAGE();
  fd_t other = open(OTHER);
  rings_t r = good_rings(dev);
  ASSERT_EQ(queue_init(dev, r), 0);
  rings_t refused = r;
  refused.tx_count = 33;
  ASSERT_EQ(queue_init(other, refused), -EPERM);
  EXPECT_EQ(other.close(), 0);
  EXPECT_NE(queue_state(dev, 0, 0).tx.base_addr, pa_of(dev, r.tx).pa);
}
