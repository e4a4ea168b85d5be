// SPDX-License-Identifier: Apache-2.0
// What moves bytes inside the mocked device: direct 2-D DMA records, and rings of descriptors whose
// engines are held, stepped and let go, with arbitrary fields. Records are compared with a
// byte-by-byte reading of their own. The input's form: `step` below, make_seeds.py writes some.
#include <fcntl.h>

#include <algorithm>
#include <cstring>

#include "isa/isa_modes.h"
#include "isa/isa_table.h"
#include "isa/project.h"
#include "mock_dev/bar0.h"
#include "mock_dev/dge.h"
#include "mock_dev/engine_registers.h"
#include "mock_dev/exec_state.h"
#include "mock_dev/udma.h"
#include "tests/fuzz/support.h"

namespace {

constexpr uint32_t kSteps = 128;
constexpr uint64_t kMemory = 64 << 10;
constexpr uint32_t kRing = 32;
constexpr uint32_t kEngines[] = {0, 1, 16};  // two of core 0, one of core 1
constexpr uint32_t kQueues = 2;
constexpr uint64_t kMoved = 1 << 14, kRows = 1 << 12;  // larger transfers are not run, for speed
constexpr int32_t kProcess = 7;

enum step_t : uint8_t { RECORD, REGISTER, TABLE, DESCRIPTOR, WRITE, HOLD, STEP, RING, STEP_COUNT };

// One of the rings by a byte: engine, queue, side.
struct ring_name {
  uint32_t engine, queue, side;
};
ring_name ring_of(uint8_t byte) {
  return {byte % 4u % static_cast<uint32_t>(std::size(kEngines)), byte / 4 % kQueues,
          byte / 8 % 2u};
}

class machine {
 public:
  machine() {
    mock_dev_options_t options{};
    options.instance = "trn1.2xlarge";
    FUZZ_CHECK(mock_host_create(&options, &host) == 0, "no machine");
    host->exec->thread_limit = 0;  // only `begin` runs cores: an input does the same every time
    int fd = mock_open(host, kProcess, "/dev/neuron0", O_RDWR);
    device = mock_host_device(host, 0);
    memory = alloc(fd, kMemory, false);
    host_memory = alloc(fd, kMemory, true);
    table = alloc(fd, 4096, false);
    rings = alloc(fd, std::size(kEngines) * kQueues * 2 * kRing * 16, false);
    for (uint32_t core = 0; core < 2; core++)
      tpb[core] = neuron_tpb_base(NEURON_ARCH_V2, core);
    for (uint64_t i = 0; i < kMemory; i++)
      pattern[i] = static_cast<uint8_t>(i * 7 + i / 251);
  }
  machine(const machine &) = delete;
  machine &operator=(const machine &) = delete;
  ~machine() { mock_host_destroy(host); }

  // As before the input: nothing in memory, no ring, nobody held.
  void begin() {
    {
      mock_guard_t guard(&device->dma_lock);
      for (uint32_t e = 0; e < neuron_arch_counts_get(NEURON_ARCH_V2).dma_engines; e++)
        mock_udma_reset(host, device, e);
    }
    for (uint32_t core = 0; core < 2; core++) {
      mock_engine_reset(host, device, core);
      FUZZ_CHECK(mock_core_wait(host, 0, core, UINT64_MAX) == MOCK_CORE_IDLE, "a core goes on");
      mock_udma_hold(host, device, core, MOCK_UDMA_FREE);
    }
    memset(device->nq_registers, 0, sizeof(device->nq_registers));
    memset(device->nq_dma_trace, 0, sizeof(device->nq_dma_trace));
    for (mock_memory_t *m : {&host->device_memory[0], &host->host_memory})
      FUZZ_CHECK(fallocate(m->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                           static_cast<off_t>(m->size)) == 0,
                 "memory cannot be emptied");
    memset(registers, 0, sizeof(registers));
    registers[PROJECT_TABLE_REGISTER] = static_cast<uint32_t>(table);
    registers[PROJECT_TABLE_REGISTER + 1] = static_cast<uint32_t>(table >> 32);
    memcpy(at(memory), pattern.data(), kMemory);
  }
  // nullptr: no memory at the address.
  uint8_t *at(uint64_t address) {
    mock_target_t target;
    if (!mock_decode(host, 0, address, 1, &target) || !mock_target_is_memory(target.kind))
      return nullptr;
    if (!mock_target_claim(host, &target, 1, false))
      return nullptr;
    return mock_memory_bytes(host, target.place.memory) + target.place.offset;
  }
  uint64_t ring(const ring_name &r) const {
    return rings + ((r.engine * kQueues + r.queue) * 2 + r.side) * uint64_t{kRing} * 16;
  }

  mock_host_t *host = nullptr;
  mock_device_t *device = nullptr;
  std::vector<uint8_t> pattern = std::vector<uint8_t>(kMemory);
  uint64_t memory, host_memory, table, rings, tpb[2];
  uint32_t registers[PROJECT_REGISTERS] = {};

 private:
  uint64_t alloc(int fd, uint64_t size, bool in_host) {
    neuron_ioctl_mem_alloc_v2_mem_type64 a{};
    uint64_t handle = 0, address = 0;
    a.size = size;
    a.host_memory = in_host ? 1 : 0;
    a.mem_type = NEURON_MEM_TENSORS_DEVICE;
    a.mem_handle = &handle;
    FUZZ_CHECK(mock_ioctl(host, kProcess, fd, NEURON_IOCTL_MEM_ALLOC_V2MT64, &a) == 0, "alloc");
    neuron_ioctl_mem_get_pa pa = {handle, &address};
    FUZZ_CHECK(mock_ioctl(host, kProcess, fd, NEURON_IOCTL_MEM_GET_PA, &pa) == 0, "address");
    return address;
  }
};

// Something that exists, more often than not.
uint64_t address_of(const machine &m, fuzz_input *in) {
  uint8_t kind = in->u8();
  if (kind % 8 == 7)
    return in->u64();
  uint64_t offset = in->u32();
  uint64_t core = m.tpb[kind >> 3 & 1];
  switch (kind % 8) {
    case 0:
    case 1:
      return m.memory + offset % (2 * kMemory);
    case 2:
      return m.host_memory + offset % (2 * kMemory);
    case 3:
      return core + offset % NEURON_SBUF_APERTURE;
    case 4:
      return core + NEURON_V2_PSUM_OFFSET + offset % NEURON_PSUM_APERTURE;
    case 5:
      return core + NEURON_V2_EVENT_OFFSET + offset % NEURON_EVENT_BLOCK_SIZE;
    default:  // registers: engines, broadcast, notifications, what lies between
      return NEURON_V2_APB_BASE + offset % 0x1100000;
  }
}

isa_addr8 addr8_of(const machine &m, fuzz_input *in) {
  isa_addr8 a{};
  uint8_t mode = in->u8();
  if (mode % 4 == 0) {
    isa_addr8_set_device(&a, address_of(m, in));
    return a;
  }
  isa_addr8_set_id(&a, in->u8() % 16);
  a.offset = in->u32();
  const uint8_t modes[] = {0, ISA_ADDR8_TABLE, ISA_ADDR8_TABLE_REGISTER, mode};
  a.mode = modes[mode % 4];
  if (a.mode == ISA_ADDR8_TABLE_REGISTER)
    a.offset %= ISA_GENERAL_REGISTERS + 1;
  return a;
}

isa_dma record_of(const machine &m, fuzz_input *in) {
  isa_dma r{};
  r.h.opcode = ISA_DMAMEMCPY;
  r.src = addr8_of(m, in);
  r.dst = addr8_of(m, in);
  for (int d = 0; d < 2; d++) {
    r.src_step[d] = static_cast<int32_t>(in->u32());
    r.src_count[d] = in->u16();
    r.dst_step[d] = static_cast<int32_t>(in->u32());
    r.dst_count[d] = in->u16();
  }
  r.src_bytes = in->u16();
  r.dst_bytes = in->u16();
  r.src_bound = in->u8();
  r.dst_bound = in->u8();
  r.src_dtype = in->u8() % 17;
  r.dst_dtype = in->u8() % 17;
  uint8_t odd = in->u8();
  r.compute_op = odd == 1 ? 1 : 0;
  r.config = odd == 2 ? 1 : 0;
  return r;
}

// Addresses of all bytes of a side.
std::vector<uint64_t> bytes_of(const mock_rows_t &rows) {
  std::vector<uint64_t> all;
  for (int64_t j = 0; j < rows.count[1]; j++)
    for (int64_t i = 0; i < rows.count[0]; i++)
      for (uint64_t b = 0; b < rows.bytes; b++)
        all.push_back(rows.address + static_cast<uint64_t>(i * rows.step[0] + j * rows.step[1]) +
                      b);
  return all;
}

// What plain memory holds after the transfer, if that can be said byte by byte: each byte written
// once and not read.
bool expected(machine *m, const mock_transfer_t &t, std::vector<uint8_t> *want) {
  std::vector<uint64_t> from = bytes_of(t.src.rows), to = bytes_of(t.dst.rows);
  if (t.cast || t.skip || from.size() != to.size())
    return false;
  std::vector<uint64_t> all = to;
  all.insert(all.end(), from.begin(), from.end());
  std::sort(all.begin(), all.end());
  std::vector<uint64_t> sources = from;
  std::sort(sources.begin(), sources.end());
  sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (all.size() != to.size() + sources.size())
    return false;
  for (uint64_t address : from) {
    const uint8_t *byte = m->at(address);
    if (byte == nullptr)
      return false;
    want->push_back(*byte);
  }
  return true;
}

void check_record(machine *m, const isa_dma &record, bool poison) {
  isa_record checked;
  memcpy(&checked, &record, sizeof(checked));
  if (isa_check(&checked, ISA_ENGINE_SP, ISA_FORM_IMAGE, nullptr) != nullptr ||
      isa_modes_check(&checked, nullptr) != nullptr)
    return;  // the sequencer stops there
  mock_dge_t dge = {m->host, 0, 0, ISA_ENGINE_SP, m->registers};
  mock_transfer_t t;
  mock_dge_fault_t fault = {PROJECT_ERROR_FAKE, 0, nullptr};
  if (!mock_dge_issue(&dge, &record, &t, &fault)) {
    FUZZ_CHECK(fault.text != nullptr && fault.error != PROJECT_ERROR_FAKE, "no reason");
    return;
  }
  FUZZ_CHECK(t.bytes != 0 && t.bytes <= ISA_MODES_DMA_BYTES, "{} bytes", t.bytes);
  auto rows = [](const mock_rows_t &r) { return uint64_t{r.count[0]} * r.count[1]; };
  if (t.bytes > kMoved || t.src.rows.bytes * rows(t.src.rows) > kMoved ||
      std::max(rows(t.src.rows), rows(t.dst.rows)) > kRows)
    return;
  std::vector<uint8_t> want;
  bool known = expected(m, t, &want);
  std::vector<uint64_t> to = bytes_of(t.dst.rows);
  bool there = std::all_of(to.begin(), to.end(), [m](uint64_t a) { return m->at(a) != nullptr; });
  if (poison)
    mock_dge_poison(m->host, &t, &fault);
  if (poison && known && there)
    for (uint64_t address : to)
      FUZZ_CHECK(*m->at(address) == 0xFF, "{:#x} is not poisoned", address);
  std::vector<uint8_t> before;
  for (uint64_t address : to)
    before.push_back(m->at(address) != nullptr ? *m->at(address) : 0);
  bool moved = mock_dge_move(m->host, &t, &fault);
  FUZZ_CHECK(moved || (fault.error == PROJECT_ERROR_MEMORY && fault.text != nullptr), "no reason");
  if (!moved && strstr(fault.text, "nothing behind") == fault.text)
    want = before, known = there = true;  // to nowhere, or from there: all is as it was
  else if (!moved || !known || !there)
    return;
  for (size_t i = 0; i < to.size(); i++)
    FUZZ_CHECK(m->at(to[i]) == nullptr || *m->at(to[i]) == want[i], "byte {} at {:#x}", i, to[i]);
}

void write_descriptor(machine *m, fuzz_input *in) {
  ring_name name = ring_of(in->u8());
  uint32_t slot = in->u8() % kRing;
  uint8_t kind = in->u8();
  neuron_dma_desc d{};
  d.len_ctrl = in->u16() | static_cast<uint32_t>(in->u16()) << 16;
  d.meta_ctrl = kind % 4 == 0   ? in->u32()
                : kind % 4 == 1 ? PROJECT_DMA_META_CAST
                                : NEURON_DMA_META_COPY;
  if (kind % 4 == 1) {
    uint8_t from = in->u8();
    d.address = project_dma_cast(from, in->u8());
  } else {
    d.address = address_of(*m, in);
  }
  for (uint32_t i = 0; i < sizeof(d); i++)
    *m->at(m->ring(name) + slot * sizeof(d) + i) = reinterpret_cast<const uint8_t *>(&d)[i];
}

void ring_set(machine *m, fuzz_input *in) {
  ring_name name = ring_of(in->u8());
  uint32_t length = in->u8() % (kRing + 1);
  mock_guard_t guard(&m->device->dma_lock);
  mock_udma_ring_set(m->host, m->device, kEngines[name.engine], name.queue,
                     name.side * NEURON_UDMA_RX, m->ring(name), length);
}

// A register of one of the queues, mostly; the doorbell half of the time.
void write_register(machine *m, fuzz_input *in) {
  uint8_t where = in->u8();
  uint64_t reg = in->u8() * 4ull;
  uint32_t value = in->u32();
  mock_target_t target;
  ring_name name = ring_of(where);
  uint64_t offset = neuron_udma_bar0_offset(NEURON_ARCH_V2, kEngines[name.engine]);
  if ((where & 0x80) != 0)
    reg = NEURON_UDMA_TAIL_INCREMENT;
  offset += NEURON_UDMA_QUEUE(name.queue) + name.side * NEURON_UDMA_RX + reg;
  if ((where & 0x40) != 0)
    offset = NEURON_V2_BAR0_APB + (reg << 14) + in->u16() * 4ull;
  if (mock_bar0_decode(m->host, 0, offset, 4, &target))
    mock_target_write(m->host, &target, value);
}

// Every queue named as ready has something to do; one packet takes at least one descriptor.
void step_queues(machine *m, fuzz_input *in) {
  uint32_t core = in->u8() & 1;
  mock_udma_ref_t refs[MOCK_UDMA_CORE_QUEUES];
  uint32_t n = mock_udma_ready(m->host, m->device, core, refs);
  uint64_t outstanding = mock_udma_outstanding(m->host, m->device, core);
  FUZZ_CHECK(outstanding >= n, "{} queues are ready, {} descriptors outstanding", n, outstanding);
  if (n == 0)
    return;
  mock_udma_ref_t ref = refs[in->u8() % n];
  FUZZ_CHECK(ref.engine / NEURON_DMA_ENGINES_PER_CORE == core, "engine {}", ref.engine);
  uint64_t bytes = 0;
  mock_udma_step_t step = mock_udma_step(m->host, m->device, ref.engine, ref.queue, &bytes);
  FUZZ_CHECK(step != MOCK_UDMA_NOTHING, "engine {} queue {} did nothing", ref.engine, ref.queue);
  FUZZ_CHECK((bytes != 0) == (step == MOCK_UDMA_MOVED), "{} bytes", bytes);
}

void step(machine *m, fuzz_input *in) {
  switch (static_cast<step_t>(in->u8() % STEP_COUNT)) {
    case RECORD: {
      bool poison = (in->u8() & 1) != 0;
      check_record(m, record_of(*m, in), poison);
      return;
    }
    case REGISTER: {
      uint8_t n = in->u8();
      m->registers[n] = in->u32();
      return;
    }
    case TABLE: {
      uint64_t entry = m->table + in->u8() % 16 * 8ull;
      uint64_t address = address_of(*m, in);
      memcpy(m->at(entry), &address, sizeof(address));
      return;
    }
    case DESCRIPTOR:
      return write_descriptor(m, in);
    case WRITE:
      return write_register(m, in);
    case HOLD: {
      uint8_t how = in->u8();
      mock_udma_hold(m->host, m->device, how & 1, static_cast<mock_udma_hold_t>(how / 2 % 3));
      return;
    }
    case STEP:
      return step_queues(m, in);
    case RING:
      return ring_set(m, in);
    case STEP_COUNT:
      return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static machine m;
  m.begin();
  fuzz_input in{{data, size}};
  for (uint32_t i = 0; i < kSteps && !in.empty(); i++)
    step(&m, &in);
  return 0;
}
