// SPDX-License-Identifier: Apache-2.0
// What the mocked device's DMAs move, beside memcpy of the same rows: direct 2-D records of 128
// rows, and rings of one descriptor pair per row. All memory is written to before anything is
// measured.
#include <fcntl.h>
#include <fmt/format.h>

#include <cstring>

#include "bench/harness.h"
#include "mock_dev/dge.h"
#include "mock_dev/udma.h"

namespace {

constexpr uint32_t kRows = 128;
constexpr uint64_t kPitch = NEURON_SBUF_PARTITION_STRIDE;
constexpr uint64_t kMemory = 256ull << 20;  // walked through, as matmul_large walks through y
constexpr uint32_t kRing = 2048;
constexpr int32_t kProcess = 1;

struct device_memory {
  uint64_t address;
  uint8_t *bytes;
};

class dma_machine {
 public:
  dma_machine() {
    mock_dev_options_t options{};
    if (mock_host_create(&options, &host_) != 0)
      bench_die("no mocked machine");
    fd_ = mock_open(host_, kProcess, "/dev/neuron0", O_RDWR);
    rows_ = alloc(kMemory);
    sbuf_ = {neuron_tpb_base(NEURON_ARCH_V3, 0),
             at(neuron_tpb_base(NEURON_ARCH_V3, 0), kRows * kPitch)};
    for (uint64_t i = 0; i < kMemory; i += 4)
      memset(rows_.bytes + i, static_cast<int>(i >> 12), 4);
    for (uint32_t row = 0; row < kRows; row++)
      memset(sbuf_.bytes + row * kPitch, 1, NEURON_V3_SBUF_PARTITION_SIZE);
  }
  ~dma_machine() { mock_host_destroy(host_); }
  dma_machine(const dma_machine &) = delete;
  dma_machine &operator=(const dma_machine &) = delete;

  device_memory alloc(uint64_t size) {
    neuron_ioctl_mem_alloc_v2_mem_type64 a{};
    uint64_t handle = 0;
    device_memory m{};
    a.size = size;
    a.mem_type = NEURON_MEM_TENSORS_DEVICE;
    a.mem_handle = &handle;
    neuron_ioctl_mem_get_pa pa{};
    if (mock_ioctl(host_, kProcess, fd_, NEURON_IOCTL_MEM_ALLOC_V2MT64, &a) != 0)
      bench_die("no device memory");
    pa.mem_handle = handle;
    pa.pa = &m.address;
    if (mock_ioctl(host_, kProcess, fd_, NEURON_IOCTL_MEM_GET_PA, &pa) != 0)
      bench_die("no address of device memory");
    m.bytes = at(m.address, size);
    return m;
  }
  uint8_t *at(uint64_t address, uint64_t size) {
    mock_place_t place;
    if (!mock_host_resolve(host_, 0, address, size, &place))
      bench_die("an address without memory");
    return mock_memory_bytes(host_, place.memory) + place.offset;
  }
  mock_host_t *host() { return host_; }
  mock_device_t *device() { return mock_host_device(host_, 0); }
  const device_memory &rows() const { return rows_; }
  const device_memory &sbuf() const { return sbuf_; }

 private:
  mock_host_t *host_ = nullptr;
  int fd_ = -1;
  device_memory rows_{}, sbuf_{};
};

// Tiles of 128 rows that lie kMemory / kRows apart, one tile behind the other.
template <typename Tile>
double gigabytes_per_second(uint64_t row_bytes, Tile tile) {
  constexpr uint64_t kSpan = kMemory / kRows;
  double start = bench_thread_seconds();
  for (uint64_t at = 0; at + row_bytes <= kSpan; at += row_bytes)
    tile(at);
  return static_cast<double>(kSpan / row_bytes * row_bytes * kRows) / 1e9 /
         (bench_thread_seconds() - start);
}

void copy_rows(const dma_machine &m, uint64_t at, uint64_t row_bytes) {
  for (uint32_t row = 0; row < kRows; row++)
    memcpy(m.sbuf().bytes + 0x4000 + row * kPitch, m.rows().bytes + row * (kMemory / kRows) + at,
           row_bytes);
  asm volatile("" : : "r"(m.sbuf().bytes) : "memory");
}

void move_record(dma_machine *m, uint64_t at, uint32_t row_bytes, bool cast) {
  static const uint32_t registers[PROJECT_REGISTERS] = {};
  isa_dma r{};
  isa_addr8_set_device(&r.src, m->rows().address + at);
  isa_addr8_set_device(&r.dst, m->sbuf().address + 0x4000);
  r.src_step[0] = static_cast<int32_t>(kMemory / kRows);
  r.dst_step[0] = static_cast<int32_t>(kPitch);
  r.src_count[0] = r.dst_count[0] = kRows;
  r.src_count[1] = r.dst_count[1] = 1;
  r.src_bytes = static_cast<uint16_t>(row_bytes);
  r.dst_bytes = static_cast<uint16_t>(cast ? row_bytes / 2 : row_bytes);
  r.src_dtype = cast ? ISA_DTYPE_FP32 : ISA_DTYPE_FP16;
  r.dst_dtype = ISA_DTYPE_FP16;
  mock_dge_t dge = {m->host(), 0, 0, ISA_ENGINE_POOL, registers};
  mock_transfer_t transfer;
  mock_dge_fault_t fault;
  if (!mock_dge_issue(&dge, &r, &transfer, &fault) || !mock_dge_move(m->host(), &transfer, &fault))
    bench_die(fault.text);
}

// A queue whose rings are written once: kRing descriptor pairs, one row each.
class row_queue {
 public:
  row_queue(dma_machine *m, uint32_t row_bytes) : m_(m) {
    device_memory tx = m->alloc(kRing * 16), rx = m->alloc(kRing * 16);
    for (uint32_t i = 0; i < kRing; i++) {
      uint32_t row = i % kRows;
      neuron_dma_desc t = {row_bytes | 1u << 24 | NEURON_DMA_DESC_FIRST | NEURON_DMA_DESC_LAST,
                           NEURON_DMA_META_COPY,
                           m->rows().address + row * (kMemory / kRows) + i / kRows * row_bytes};
      neuron_dma_desc r = {row_bytes | 1u << 24, 0, m->sbuf().address + 0x4000 + row * kPitch};
      memcpy(tx.bytes + i * 16ull, &t, 16);
      memcpy(rx.bytes + i * 16ull, &r, 16);
    }
    mock_guard_t guard(&m->device()->dma_lock);
    mock_udma_ring_set(m->host(), m->device(), 0, 0, 0, tx.address, kRing);
    mock_udma_ring_set(m->host(), m->device(), 0, 0, NEURON_UDMA_RX, rx.address, kRing);
  }
  void tile() {
    mock_guard_t guard(&m_->device()->dma_lock);
    mock_udma_start(m_->host(), m_->device(), 0, 0, kRows, kRows);
  }

 private:
  dma_machine *m_;
};

void report(dma_machine *m, uint32_t row_bytes) {
  row_queue queue(m, row_bytes);
  auto side = [row_bytes](const char *name, auto tile) {
    return bench_side{name, [=] { return gigabytes_per_second(row_bytes, tile); }};
  };
  std::vector<bench_side> sides = {
      side("memcpy", [=](uint64_t at) { copy_rows(*m, at, row_bytes); }),
      side("record", [=](uint64_t at) { move_record(m, at, row_bytes, false); }),
      side("record fp32 to fp16", [=](uint64_t at) { move_record(m, at, row_bytes, true); }),
  };
  bench_interleave(&sides);
  // The ring comes around to the same rows, so memcpy does too.
  uint64_t lap = uint64_t{kRing / kRows} * row_bytes;
  std::vector<bench_side> ring_sides = {
      side("memcpy", [=](uint64_t at) { copy_rows(*m, at % lap, row_bytes); }),
      side("ring", [&queue](uint64_t) { queue.tile(); }),
  };
  bench_interleave(&ring_sides);
  auto line = [&](const bench_side &ours, const bench_side &baseline, double target) {
    bench_result result = bench_compare(
        fmt::format("dma {}, 128 rows of {} B", ours.name, row_bytes), "GB/s", ours, baseline);
    result.lower_is_better = false;
    if (target != 0) {
      result.bound = bench_bound::at_least;
      result.target = target;
    }
    bench_report(result);
  };
  bool large = row_bytes >= 4096;  // the rows of matmul_large
  line(sides[1], sides[0], large ? 0.9 : 0);
  line(sides[2], sides[0], 0);
  line(ring_sides[1], ring_sides[0], large ? 0.5 : 0);
}

}  // namespace

int main() {
  dma_machine machine;
  for (uint32_t row_bytes : {256u, 4096u, 16384u})
    report(&machine, row_bytes);
  return 0;
}
