// SPDX-License-Identifier: Apache-2.0
// Programs for the engines of a core: records are written out here from the sheets
// (neuroncore-isa.md 2.2, 4.6, verified-facts.md G1, G7), put into device memory and started
// through BAR0.
#pragma once

#include <thread>

#include "isa/project.h"
#include "mock_dev/exec.h"
#include "tests/mock_dev/dma_fixture.h"

enum { PE, ACT, POOL, DVE, SP };
constexpr uint64_t SECOND_NS = 1000000000ull;

struct record_t {
  uint8_t b[64] = {};

  record_t() = default;
  explicit record_t(uint8_t opcode) {
    b[0] = opcode;
    b[1] = 0x10;
  }
  template <typename T>
  record_t &put(size_t at, T value) {
    memcpy(b + at, &value, sizeof(value));
    return *this;
  }
  record_t &wait(uint8_t mode, uint8_t index, uint32_t value = 0) {
    b[4] = mode;
    b[5] = index;
    return put(8, value);
  }
  record_t &update(uint8_t mode, uint8_t index) {
    b[6] = mode;
    b[7] = index;
    return *this;
  }
  record_t &update(uint8_t mode, uint8_t index, uint32_t value) {
    return update(mode, index).put(8, value);
  }
  record_t &wait2(uint8_t mode, uint8_t index, uint32_t value = 0) {
    b[32] = mode;
    b[33] = index;
    return put(36, value);
  }
  record_t &update2(uint8_t mode, uint8_t index, uint32_t value = 0) {
    b[34] = mode;
    b[35] = index;
    return put(40, value);
  }
};

inline record_t nop() {
  return record_t(0xA4);
}
inline record_t halt() {
  return record_t(0xA1);
}
inline record_t both() {
  return record_t(0xA0);
}
inline record_t move_imm(std::vector<uint8_t> registers, std::vector<uint32_t> values) {
  record_t r(0xA7);
  r.b[12] = static_cast<uint8_t>(registers.size());
  r.b[13] = 9;  // uint32
  r.b[14] = 1;
  for (size_t i = 0; i < registers.size(); ++i) {
    r.b[24 + i] = registers[i];
    r.put(32 + 4 * i, values[i]);
  }
  return r;
}
inline record_t move_reg(std::vector<uint8_t> from, std::vector<uint8_t> to) {
  record_t r(0xA7);
  r.b[12] = static_cast<uint8_t>(from.size());
  r.b[13] = 9;
  for (size_t i = 0; i < from.size(); ++i) {
    r.b[16 + i] = from[i];
    r.b[24 + i] = to[i];
  }
  return r;
}
// 32-bit, immediate second operand.
inline record_t alu_imm(uint8_t op, uint8_t dst, uint8_t src, uint32_t value, uint8_t dtype = 9) {
  record_t r(0xA8);
  r.b[12] = op;
  r.b[13] = dtype;
  r.b[14] = 1;
  r.b[16] = src;
  r.b[20] = dst;
  return r.put(24, static_cast<uint64_t>(value));
}
// Relative, in records from the branch itself.
inline record_t branch(uint8_t comparison, uint8_t reg, uint32_t value, int32_t records,
                       uint8_t dtype = 9) {
  record_t r(0xA9);
  r.b[12] = comparison;
  r.b[13] = dtype;
  r.b[14] = 3;
  r.put(16, static_cast<uint64_t>(value));
  r.b[32] = reg;
  return r.put(48, records * 64);
}
// AA or AB with uint32 elements, one after the other.
inline record_t scalars(uint8_t opcode, uint64_t address, std::vector<uint8_t> registers) {
  record_t r(opcode);
  r.b[12] = 9;
  r.b[14] = static_cast<uint8_t>(registers.size());
  r.b[15] = 1;
  r.put(16, address).put(24, int32_t{1}).put(28, int32_t{1});
  for (size_t i = 0; i < registers.size(); ++i)
    r.b[32 + i] = registers[i];
  return r;
}
inline record_t load(uint64_t address, std::vector<uint8_t> registers) {
  return scalars(0xAA, address, std::move(registers));
}
inline record_t store(uint64_t address, std::vector<uint8_t> registers) {
  return scalars(0xAB, address, std::move(registers));
}
inline record_t write(uint64_t address, uint8_t size, uint64_t value) {
  record_t r(0xA5);
  r.b[12] = size;
  return r.put(16, address).put(32, value);
}
inline record_t notify(uint8_t queue, uint8_t type, uint16_t hint) {
  record_t r(0xA6);
  r.b[12] = queue;
  r.b[13] = type;
  return r.put(14, hint);
}
inline record_t run_start(uint32_t engine) {
  return notify(static_cast<uint8_t>(4 + engine), static_cast<uint8_t>(6 + 4 * engine), 2);
}
inline record_t run_end(uint32_t engine) {
  return notify(static_cast<uint8_t>(4 + engine), static_cast<uint8_t>(6 + 4 * engine), 3);
}
// Rows of bytes between device addresses; the semaphore rises by 16.
inline record_t dma(uint64_t from, uint64_t to, uint16_t bytes, uint16_t rows, uint8_t semaphore) {
  record_t r(0xB8);
  r.b[13] = semaphore;
  r.b[14] = 0x10;
  r.put(16, from).put(24, int32_t{bytes}).put(28, int32_t{1}).put(32, rows).put(34, uint16_t{1});
  r.put(36, bytes);
  r.put(40, to).put(48, int32_t{bytes}).put(52, int32_t{1}).put(56, rows).put(58, uint16_t{1});
  r.put(60, bytes);
  r.b[62] = r.b[63] = 3;
  return r;
}

// BAR0 offset of a register of an engine: events at 39 MiB of a core's 64 MiB, sequencers 32 KiB
// behind.
inline uint64_t engine_register(bool v2, uint32_t core, uint32_t engine, uint64_t reg) {
  return (v2 ? 0 : 0xd0000000ull) + core * 0x4000000ull + 0x2700000 + 0x8000 + engine * 0x40 + reg;
}

// Device address of a core's events on v3.
inline uint64_t events_v3(uint32_t core) {
  return 0x2000000000ull + (core & 1) * 0x1000000000ull + (core >> 1 & 1) * 0x4000000000ull +
         (core >> 2) * 0x800000000000ull + 0x802700000ull;
}

struct notification_t {
  uint16_t pc_low;
  uint8_t pc_high_hint, type_flags;
  uint16_t counter, hint;
  uint64_t timestamp;
};
static_assert(sizeof(notification_t) == 16);

struct cores_t : machine_t {
  static constexpr uint64_t STREAM = 0x10000;  // bytes per engine
  bool v2;
  chunk_t code, data;
  uint8_t *code_bytes, *data_bytes;

  explicit cores_t(const char *instance = "trn2.3xlarge") : cores_t(of(instance)) {}
  explicit cores_t(const mock_dev_options_t &options)
      : machine_t(options),
        v2(options.instance != nullptr && strcmp(options.instance, "trn2.3xlarge") != 0) {
    code = alloc(*this, {.size = 64 * STREAM});
    data = alloc(*this, {.size = 1 << 20});
    code_bytes = static_cast<uint8_t *>(mock_dram(host, 0, code.pa, 64 * STREAM));
    data_bytes = static_cast<uint8_t *>(mock_dram(host, 0, data.pa, 1 << 20));
  }

  void bar_write(uint64_t offset, uint32_t value) {
    uint64_t address = 0xffffc90000000000ull + offset;
    neuron_ioctl_bar_rw a = {};
    a.address = &address;
    a.data = &value;
    a.count = 1;
    EXPECT_EQ(io(NEURON_IOCTL_BAR_WRITE, &a), 0);
  }
  uint32_t bar_read(uint64_t offset) {
    uint64_t address = 0xffffc90000000000ull + offset;
    uint32_t value = 0xeeeeeeee;
    neuron_ioctl_bar_rw a = {};
    a.address = &address;
    a.data = &value;
    a.count = 1;
    EXPECT_EQ(io(NEURON_IOCTL_BAR_READ, &a), 0);
    return value;
  }

  uint64_t stream(uint32_t core, uint32_t engine) const {
    return code.pa + (core * 5 + engine) * STREAM;
  }
  void load_program(uint32_t core, uint32_t engine, const std::vector<record_t> &records) {
    memcpy(code_bytes + (core * 5 + engine) * STREAM, records.data(), records.size() * 64);
  }
  void start_at(uint32_t core, uint32_t engine, uint64_t pc) {
    bar_write(engine_register(v2, core, engine, 0), static_cast<uint32_t>(pc));
    bar_write(engine_register(v2, core, engine, 4), static_cast<uint32_t>(pc >> 32));
    bar_write(engine_register(v2, core, engine, 8), 1);
  }
  void start(uint32_t core, uint32_t engine, const std::vector<record_t> &records) {
    load_program(core, engine, records);
    start_at(core, engine, stream(core, engine));
  }
  // Whatever it waits for: it does not go on when that comes.
  void stop(uint32_t engine, uint32_t core = 0) {
    bar_write(engine_register(v2, core, engine, 8), 0);
  }
  // Runs a program that ends with a halt.
  void run(uint32_t engine, std::vector<record_t> records, uint32_t core = 0) {
    records.push_back(halt());
    start(core, engine, records);
    EXPECT_EQ(wait(core), MOCK_CORE_IDLE);
    EXPECT_EQ(status(engine, core), 0u) << report(core);
  }
  int wait(uint32_t core = 0, uint64_t ns = 60 * SECOND_NS) {
    return mock_core_wait(host, 0, core, ns);
  }
  // 0 halted, 1 running, 2 waiting, 3 stopped by an error.
  uint32_t status(uint32_t engine, uint32_t core = 0) {
    return bar_read(engine_register(v2, core, engine, 0xc));
  }
  std::string report(uint32_t core = 0) {
    char text[4096];
    mock_core_report(host, 0, core, text, sizeof(text));
    return text;
  }

  template <typename T = uint32_t>
  T at(uint64_t offset) const {
    T value;
    memcpy(&value, data_bytes + offset, sizeof(value));
    return value;
  }

  uint32_t semaphore(uint32_t index, uint32_t core = 0) {
    return semaphore_read(*this, core, index);
  }
  void semaphore_io(uint32_t request, uint32_t index, uint32_t value, uint32_t core) {
    neuron_ioctl_semaphore a = {core, index, value};
    EXPECT_EQ(io(request, &a), 0);
  }
  void semaphore_set(uint32_t index, uint32_t value, uint32_t core = 0) {
    semaphore_io(NEURON_IOCTL_SEMAPHORE_WRITE, index, value, core);
  }
  void semaphore_add(uint32_t index, uint32_t value, uint32_t core = 0) {
    semaphore_io(NEURON_IOCTL_SEMAPHORE_INCREMENT, index, value, core);
  }
  uint32_t event(uint32_t index, uint32_t core = 0) {
    neuron_ioctl_event a = {core, index, 0};
    EXPECT_EQ(io(NEURON_IOCTL_EVENT_GET, &a), 0);
    return a.value;
  }
  void event_set(uint32_t index, uint32_t value, uint32_t core = 0) {
    neuron_ioctl_event a = {core, index, value};
    EXPECT_EQ(io(NEURON_IOCTL_EVENT_SET, &a), 0);
  }
};

// A notification queue of a core in host memory.
struct nq_t {
  cores_t *m;
  uint32_t core, queue, size;
  uint8_t *bytes = nullptr;
  uint32_t head = 0;
  bool phase = true;

  nq_t(cores_t &machine, uint32_t q, uint32_t n = 4096, uint32_t c = 0)
      : m(&machine), core(c), queue(q), size(n) {
    neuron_ioctl_notifications_init_v2 a = {};
    a.nq_type = q == 2 ? 3 : 1;
    a.engine_index = q;
    a.size = n;
    a.on_host_memory = 1;
    a.nq_dev_id = c;
    EXPECT_EQ(machine.io(NEURON_IOCTL_NOTIFICATIONS_INIT_V2, &a), 0);
    void *va = nullptr;
    EXPECT_EQ(mock_mmap(machine.host, PID, machine.fd, a.mmap_offset, std::max(n, 4096u),
                        PROT_READ | PROT_WRITE, &va),
              0);
    bytes = static_cast<uint8_t *>(va);
  }
  notification_t slot(uint32_t offset) const {
    notification_t n;
    memcpy(&n, bytes + offset, sizeof(n));
    return n;
  }
  uint64_t reg(uint64_t at) const {
    return (m->v2 ? 0x30535000 : 0x6001000) + 0x100 + 0x28 * queue + at;  // core 0's
  }
  // Records that are there, by the phase bit; the head register follows when told so.
  std::vector<notification_t> take(bool write_head = true) {
    std::vector<notification_t> out;
    for (;;) {
      notification_t n = slot(head);
      if ((n.type_flags >> 7 != 0) != phase || out.size() == size / 16)
        break;
      out.push_back(n);
      head += 16;
      if (head == size) {
        head = 0;
        phase = !phase;
      }
    }
    if (write_head)
      m->bar_write(reg(0xc), head);
    return out;
  }
};
