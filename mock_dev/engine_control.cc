// SPDX-License-Identifier: Apache-2.0
// Records that steer: registers, branches, scalar memory, notifications, semaphores in bulk
// (neuroncore-isa.md 4.6, verified-facts.md G1, G7).
#include <iterator>

#include "mock_dev/engine.h"
#include "mock_dev/engine_memory.h"
#include "mock_dev/engine_notify.h"
#include "mock_dev/engine_registers.h"

namespace {

constexpr uint8_t PC_LOW = 128, PC_HIGH = 129;  // special registers
constexpr uint32_t WORD_BITS = 32;
constexpr uint32_t MOVE_MAX = sizeof(isa_move::src);

template <typename T>
const T *as(const mock_exec_record_t *x) {
  return reinterpret_cast<const T *>(x->record);
}

// --- registers ----------------------------------------------------------------------------------

uint32_t get(const mock_exec_record_t *x, uint8_t n) {
  if (n == PC_LOW)
    return static_cast<uint32_t>(x->pc);
  if (n == PC_HIGH)
    return static_cast<uint32_t>(x->pc >> WORD_BITS);
  return x->arch->registers[n];
}

uint64_t get_pair(const mock_exec_record_t *x, const uint8_t pair[2]) {
  return get(x, pair[0]) | static_cast<uint64_t>(get(x, pair[1])) << WORD_BITS;
}

void set(mock_exec_record_t *x, uint8_t n, uint32_t value) {
  x->arch->registers[n] = value;
}

bool is_wide(uint8_t dtype) {
  return dtype == ISA_DTYPE_INT64 || dtype == ISA_DTYPE_UINT64;
}

const char *move(mock_exec_record_t *x) {
  const auto *r = as<isa_move>(x);
  uint32_t values[MOVE_MAX];
  for (uint32_t i = 0; i < r->count; ++i)  // all are read before the first is written
    values[i] = r->source == 0 ? get(x, r->src[i]) : r->immediate[i];
  for (uint32_t i = 0; i < r->count; ++i)
    set(x, r->dst[i], values[i]);
  return nullptr;
}

// --- arithmetic ---------------------------------------------------------------------------------

template <typename T, typename U>  // U: unsigned of the same size, so that sums wrap
T integer_op(uint8_t op, T a, T b) {
  constexpr U BITS = sizeof(T) * 8;
  U ua = static_cast<U>(a), ub = static_cast<U>(b);
  // A shift by the width or more leaves what an endless row of single shifts would.
  bool gone = ub >= BITS;
  switch (op) {
    case ISA_ALU_NOT:
      return static_cast<T>(~ua);
    case ISA_ALU_ADD:
      return static_cast<T>(ua + ub);
    case ISA_ALU_SUBTRACT:
      return static_cast<T>(ua - ub);
    case ISA_ALU_MULTIPLY:
      return static_cast<T>(ua * ub);
    case ISA_ALU_MAX:
      return a > b ? a : b;
    case ISA_ALU_MIN:
      return a < b ? a : b;
    case ISA_ALU_AND:
      return static_cast<T>(ua & ub);
    case ISA_ALU_OR:
      return static_cast<T>(ua | ub);
    case ISA_ALU_XOR:
      return static_cast<T>(ua ^ ub);
    case ISA_ALU_SHL_ARITHMETIC:
    case ISA_ALU_SHL_LOGICAL:
      return gone ? 0 : static_cast<T>(ua << ub);
    case ISA_ALU_SHR_LOGICAL:
      return gone ? 0 : static_cast<T>(ua >> ub);
    case ISA_ALU_SHR_ARITHMETIC:
      return static_cast<T>(a >> (gone ? BITS - 1 : ub));
    default:  // ISA_ALU_BYPASS; isa_modes_check lets no other through
      return a;
  }
}

uint64_t alu(uint8_t dtype, uint8_t op, uint64_t a, uint64_t b) {
  switch (dtype) {
    case ISA_DTYPE_UINT64:
      return integer_op<uint64_t, uint64_t>(op, a, b);
    case ISA_DTYPE_INT64:
      return static_cast<uint64_t>(
          integer_op<int64_t, uint64_t>(op, static_cast<int64_t>(a), static_cast<int64_t>(b)));
    case ISA_DTYPE_INT32:
      return static_cast<uint32_t>(
          integer_op<int32_t, uint32_t>(op, static_cast<int32_t>(a), static_cast<int32_t>(b)));
    default:  // ISA_DTYPE_UINT32
      return integer_op<uint32_t, uint32_t>(op, static_cast<uint32_t>(a), static_cast<uint32_t>(b));
  }
}

const char *alu_op(mock_exec_record_t *x) {
  const auto *r = as<isa_alu>(x);
  bool wide = is_wide(r->dtype);
  const uint8_t src0[] = {r->src0_low, r->src0_high}, src1[] = {r->src1_low, r->src1_high};
  uint64_t a = wide ? get_pair(x, src0) : get(x, src0[0]);
  uint64_t b = r->src1_source == 1 ? r->immediate : wide ? get_pair(x, src1) : get(x, src1[0]);
  uint64_t result = alu(r->dtype, r->op, a, b);
  set(x, r->dst_low, static_cast<uint32_t>(result));
  if (wide)
    set(x, r->dst_high, static_cast<uint32_t>(result >> WORD_BITS));
  return nullptr;
}

// --- branches -----------------------------------------------------------------------------------

template <typename T>
bool compares(uint8_t comparison, T a, T b) {
  switch (comparison) {
    case ISA_BRANCH_LT:
      return a < b;
    case ISA_BRANCH_LE:
      return a <= b;
    case ISA_BRANCH_EQ:
      return a == b;
    case ISA_BRANCH_NE:
      return a != b;
    case ISA_BRANCH_GE:
      return a >= b;
    default:
      return a > b;
  }
}

bool condition(const mock_exec_record_t *x) {
  const auto *r = as<isa_compare_branch>(x);
  if (r->compare == ISA_BRANCH_ALWAYS)
    return true;
  bool registers = r->compare > ISA_BRANCH_REGISTERS;
  bool wide = is_wide(r->dtype);
  uint8_t comparison = registers ? r->compare - ISA_BRANCH_REGISTERS : r->compare;
  uint64_t a = wide ? get_pair(x, r->reg) : get(x, r->reg[0]);
  uint64_t b = registers ? get(x, r->reg[1]) : r->immediate;
  if (r->dtype == ISA_DTYPE_INT64)
    return compares(comparison, static_cast<int64_t>(a), static_cast<int64_t>(b));
  if (r->dtype == ISA_DTYPE_UINT64)
    return compares(comparison, a, b);
  if (r->dtype == ISA_DTYPE_INT32)
    return compares(comparison, static_cast<int32_t>(a), static_cast<int32_t>(b));
  return compares(comparison, static_cast<uint32_t>(a), static_cast<uint32_t>(b));
}

const char *compare_branch(mock_exec_record_t *x) {
  const auto *r = as<isa_compare_branch>(x);
  if (!condition(x))
    return nullptr;
  switch (r->target) {
    case ISA_TARGET_REGISTERS:
      x->next = get_pair(x, r->target_reg);
      return nullptr;
    case ISA_TARGET_RELATIVE:
      x->next = x->pc + static_cast<uint64_t>(int64_t{r->offset});
      return nullptr;
    default:  // ISA_TARGET_RELATIVE_REGISTER
      x->next =
          x->pc + static_cast<uint64_t>(int64_t{static_cast<int32_t>(get(x, r->target_reg[0]))});
      return nullptr;
  }
}

// --- scalar memory ------------------------------------------------------------------------------

// Address of element n of a two-dimensional pattern, index 0 fastest.
uint64_t element_address(const isa_tensor_move *r, uint32_t n, uint32_t size) {
  int64_t at = int64_t{r->step[0]} * (n % r->count[0]) + int64_t{r->step[1]} * (n / r->count[0]);
  return isa_addr8_device(r->address) + static_cast<uint64_t>(at) * size;
}

const char *tensor_load(mock_exec_record_t *x) {
  const auto *r = as<isa_tensor_move>(x);
  const uint32_t elements = uint32_t{r->count[0]} * r->count[1], size = isa_dtype_size(r->dtype);
  const char *why = nullptr;
  for (uint32_t i = 0; i < elements && why == nullptr; ++i) {
    uint64_t value;
    why = mock_scalar_load(x, element_address(r, i, size), size, &value);
    if (r->dtype == ISA_DTYPE_INT8)
      value = static_cast<uint32_t>(static_cast<int8_t>(value));
    else if (r->dtype == ISA_DTYPE_INT16)
      value = static_cast<uint32_t>(static_cast<int16_t>(value));
    if (why == nullptr)
      set(x, r->reg[i], static_cast<uint32_t>(value));
  }
  return why;
}

const char *tensor_store(mock_exec_record_t *x) {
  const auto *r = as<isa_tensor_move>(x);
  const uint32_t elements = uint32_t{r->count[0]} * r->count[1], size = isa_dtype_size(r->dtype);
  bool immediate = r->kind == 1;
  const char *why = nullptr;
  for (uint32_t i = 0; i < elements && why == nullptr; ++i)
    why = mock_scalar_store(x, element_address(r, i, size), size,
                            immediate ? r->immediate[i] : get(x, r->reg[i]));
  return why;
}

const char *write(mock_exec_record_t *x) {
  const auto *r = as<isa_write>(x);
  const char *why = nullptr;
  for (uint32_t i = 0; i < std::size(r->size) && why == nullptr; ++i) {
    if (r->size[i] != 0)
      why = mock_scalar_store(x, isa_addr8_device(r->address[i]), r->size[i], r->value[i]);
  }
  return why;
}

// --- the rest -----------------------------------------------------------------------------------

const char *nothing(mock_exec_record_t *) {
  return nullptr;
}

const char *halt(mock_exec_record_t *x) {
  mock_engine_stop(x->arch, PROJECT_ENGINE_HALTED);
  return nullptr;
}

const char *act_table_load(mock_exec_record_t *x) {
  mock_core_t *core = x->core;
  uint64_t tables = __atomic_load_n(&x->arch->tables, __ATOMIC_RELAXED);
  return mock_act_table_load(core->host, core->device->index, tables,
                             as<isa_act_table_load>(x)->set, &core->act);
}

const char *sem_range_clear(mock_exec_record_t *x) {
  const auto *r = as<isa_sem_range_clear>(x);
  for (uint32_t i = 0; i < MOCK_SIM_COUNTERS; ++i) {
    bool chosen = r->mode == 1 ? i >= r->first && i <= r->last : (r->mask[i / 8] >> i % 8 & 1) != 0;
    if (chosen)
      mock_core_semaphore(x->core, NEURON_SEMAPHORE_SET, i, 0, x->engine, x->end);
  }
  return nullptr;
}

}  // namespace

mock_record_fn mock_engine_control_find(uint8_t opcode) {
  switch (opcode) {
    case ISA_EVENT_SEMAPHORE:  // waits and updates are everything they do
    case ISA_DRAIN:            // engines execute in order, nothing is under way
    case ISA_NOP:
    case ISA_SET_ORDERING:
      return nothing;
    case ISA_ACT_TABLE_LOAD:
      return act_table_load;
    case ISA_HALT:
      return halt;
    case ISA_WRITE:
      return write;
    case ISA_NOTIFY:
      return mock_engine_notify;
    case ISA_MOVE:
      return move;
    case ISA_ALU_OP:
      return alu_op;
    case ISA_COMPARE_BRANCH:
      return compare_branch;
    case ISA_TENSOR_LOAD:
      return tensor_load;
    case ISA_TENSOR_STORE:
      return tensor_store;
    case ISA_SEM_RANGE_CLEAR:
      return sem_range_clear;
    case ISA_DMAMEMCPY:
      return mock_engine_dma;
    default:
      return nullptr;
  }
}
