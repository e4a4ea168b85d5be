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
constexpr uint32_t GENERAL_REGISTERS = 64;
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

const char *set(mock_exec_record_t *x, uint8_t n, uint32_t value) {
  if (n >= GENERAL_REGISTERS && n != PROJECT_TABLE_REGISTER && n != PROJECT_TABLE_REGISTER + 1)
    return "register that cannot be written";
  x->arch->registers[n] = value;
  return nullptr;
}

bool is_wide(uint8_t dtype) {
  return dtype == ISA_DTYPE_INT64 || dtype == ISA_DTYPE_UINT64;
}

const char *move(mock_exec_record_t *x) {
  const auto *r = as<isa_move>(x);
  if (r->count == 0 || r->count > MOVE_MAX)
    return "move of no or more than 8 registers";
  uint32_t values[MOVE_MAX];
  for (uint32_t i = 0; i < r->count; ++i)  // all are read before the first is written
    values[i] = r->source == 0 ? get(x, r->src[i]) : r->immediate[i];
  const char *why = nullptr;
  for (uint32_t i = 0; i < r->count && why == nullptr; ++i)
    why = set(x, r->dst[i], values[i]);
  return why;
}

// --- arithmetic ---------------------------------------------------------------------------------

template <typename T, typename U>  // U: unsigned of the same size, so that sums wrap
bool integer_op(uint8_t op, T a, T b, T *out) {
  constexpr U BITS = sizeof(T) * 8;
  U ua = static_cast<U>(a), ub = static_cast<U>(b);
  // A shift by the width or more leaves what an endless row of single shifts would.
  bool gone = ub >= BITS;
  switch (op) {
    case ISA_ALU_BYPASS:
      return *out = a, true;
    case ISA_ALU_NOT:
      return *out = static_cast<T>(~ua), true;
    case ISA_ALU_ADD:
      return *out = static_cast<T>(ua + ub), true;
    case ISA_ALU_SUBTRACT:
      return *out = static_cast<T>(ua - ub), true;
    case ISA_ALU_MULTIPLY:
      return *out = static_cast<T>(ua * ub), true;
    case ISA_ALU_MAX:
      return *out = a > b ? a : b, true;
    case ISA_ALU_MIN:
      return *out = a < b ? a : b, true;
    case ISA_ALU_AND:
      return *out = static_cast<T>(ua & ub), true;
    case ISA_ALU_OR:
      return *out = static_cast<T>(ua | ub), true;
    case ISA_ALU_XOR:
      return *out = static_cast<T>(ua ^ ub), true;
    case ISA_ALU_SHL_ARITHMETIC:
    case ISA_ALU_SHL_LOGICAL:
      return *out = gone ? 0 : static_cast<T>(ua << ub), true;
    case ISA_ALU_SHR_LOGICAL:
      return *out = gone ? 0 : static_cast<T>(ua >> ub), true;
    case ISA_ALU_SHR_ARITHMETIC:
      return *out = static_cast<T>(a >> (gone ? BITS - 1 : ub)), true;
    default:
      return false;
  }
}

bool alu(uint8_t dtype, uint8_t op, uint64_t a, uint64_t b, uint64_t *out) {
  bool ok;
  if (dtype == ISA_DTYPE_UINT64)
    return integer_op<uint64_t, uint64_t>(op, a, b, out);
  if (dtype == ISA_DTYPE_INT64) {
    int64_t wide;
    ok = integer_op<int64_t, uint64_t>(op, static_cast<int64_t>(a), static_cast<int64_t>(b), &wide);
    *out = static_cast<uint64_t>(wide);
    return ok;
  }
  if (dtype == ISA_DTYPE_INT32) {
    int32_t narrow;
    ok = integer_op<int32_t, uint32_t>(op, static_cast<int32_t>(a), static_cast<int32_t>(b),
                                       &narrow);
    *out = static_cast<uint32_t>(narrow);
    return ok;
  }
  uint32_t narrow;
  ok = integer_op<uint32_t, uint32_t>(op, static_cast<uint32_t>(a), static_cast<uint32_t>(b),
                                      &narrow);
  *out = narrow;
  return ok;
}

bool is_scalar_integer(uint8_t dtype) {
  return is_wide(dtype) || dtype == ISA_DTYPE_INT32 || dtype == ISA_DTYPE_UINT32;
}

const char *alu_op(mock_exec_record_t *x) {
  const auto *r = as<isa_alu>(x);
  if (!is_scalar_integer(r->dtype))
    return "scalar arithmetic on this data type is not implemented";
  if (r->dst_dtype != ISA_DTYPE_INVALID && r->dst_dtype != r->dtype)
    return "scalar arithmetic into another data type is not implemented";
  bool wide = is_wide(r->dtype);
  const uint8_t src0[] = {r->src0_low, r->src0_high}, src1[] = {r->src1_low, r->src1_high};
  uint64_t a = wide ? get_pair(x, src0) : get(x, src0[0]);
  uint64_t b = r->src1_source == 1 ? r->immediate : wide ? get_pair(x, src1) : get(x, src1[0]);
  uint64_t result;
  if (!alu(r->dtype, r->op, a, b, &result))
    return "scalar operation that is not implemented";
  const char *why = set(x, r->dst_low, static_cast<uint32_t>(result));
  return why != nullptr || !wide ? why
                                 : set(x, r->dst_high, static_cast<uint32_t>(result >> WORD_BITS));
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

const char *condition(const mock_exec_record_t *x, bool *taken) {
  const auto *r = as<isa_compare_branch>(x);
  *taken = true;
  if (r->compare == ISA_BRANCH_ALWAYS)
    return nullptr;
  if (!is_scalar_integer(r->dtype))
    return "branch on a data type that is not implemented";
  bool registers = r->compare > ISA_BRANCH_REGISTERS;
  bool wide = is_wide(r->dtype);
  uint8_t comparison = registers ? r->compare - ISA_BRANCH_REGISTERS : r->compare;
  if (comparison < ISA_BRANCH_LT || comparison > ISA_BRANCH_GT)
    return "comparison that is not implemented";
  if (registers && wide)
    return "64-bit comparison of registers is not implemented";
  uint64_t a = wide ? get_pair(x, r->reg) : get(x, r->reg[0]);
  uint64_t b = registers ? get(x, r->reg[1]) : r->immediate;
  if (r->dtype == ISA_DTYPE_INT64)
    *taken = compares(comparison, static_cast<int64_t>(a), static_cast<int64_t>(b));
  else if (r->dtype == ISA_DTYPE_UINT64)
    *taken = compares(comparison, a, b);
  else if (r->dtype == ISA_DTYPE_INT32)
    *taken = compares(comparison, static_cast<int32_t>(a), static_cast<int32_t>(b));
  else
    *taken = compares(comparison, static_cast<uint32_t>(a), static_cast<uint32_t>(b));
  return nullptr;
}

const char *compare_branch(mock_exec_record_t *x) {
  const auto *r = as<isa_compare_branch>(x);
  bool taken;
  const char *why = condition(x, &taken);
  if (why != nullptr || !taken)
    return why;
  switch (r->target) {
    case ISA_TARGET_REGISTERS:
      x->next = get_pair(x, r->target_reg);
      return nullptr;
    case ISA_TARGET_RELATIVE:
      x->next = x->pc + static_cast<uint64_t>(int64_t{r->offset});
      return nullptr;
    case ISA_TARGET_RELATIVE_REGISTER:
      x->next =
          x->pc + static_cast<uint64_t>(int64_t{static_cast<int32_t>(get(x, r->target_reg[0]))});
      return nullptr;
    default:
      return "branch target of unknown kind";
  }
}

// --- scalar memory ------------------------------------------------------------------------------

// Address of element n of a two-dimensional pattern, index 0 fastest.
uint64_t element_address(const isa_tensor_move *r, uint32_t n, uint32_t size) {
  int64_t at = int64_t{r->step[0]} * (n % r->count[0]) + int64_t{r->step[1]} * (n / r->count[0]);
  return isa_addr8_device(r->address) + static_cast<uint64_t>(at) * size;
}

const char *tensor_check(const isa_tensor_move *r, uint32_t limit, uint32_t *elements,
                         uint32_t *size) {
  *elements = uint32_t{r->count[0]} * r->count[1];
  *size = isa_dtype_size(r->dtype);
  if (r->address.mode == ISA_ADDR8_TABLE || r->address.mode == ISA_ADDR8_TABLE_REGISTER)
    return "scalar access by the DGE table is not implemented";
  if (*elements == 0 || *elements > limit)
    return "scalar access to no or too many elements";
  if (*size == 0 || *size > sizeof(uint32_t))
    return "scalar access with this data type is not implemented";
  return nullptr;
}

const char *tensor_load(mock_exec_record_t *x) {
  const auto *r = as<isa_tensor_move>(x);
  uint32_t elements, size;
  if (r->kind != 0)
    return "load of an unknown kind";
  const char *why = tensor_check(r, sizeof(r->reg), &elements, &size);
  for (uint32_t i = 0; i < elements && why == nullptr; ++i) {
    uint64_t value;
    why = mock_scalar_load(x, element_address(r, i, size), size, &value);
    if (r->dtype == ISA_DTYPE_INT8)
      value = static_cast<uint32_t>(static_cast<int8_t>(value));
    else if (r->dtype == ISA_DTYPE_INT16)
      value = static_cast<uint32_t>(static_cast<int16_t>(value));
    if (why == nullptr)
      why = set(x, r->reg[i], static_cast<uint32_t>(value));
  }
  return why;
}

const char *tensor_store(mock_exec_record_t *x) {
  const auto *r = as<isa_tensor_move>(x);
  bool immediate = r->kind == 1;
  if (r->kind > 1)
    return "store of an unknown kind";
  uint32_t elements, size;
  const char *why =
      tensor_check(r, immediate ? std::size(r->immediate) : sizeof(r->reg), &elements, &size);
  for (uint32_t i = 0; i < elements && why == nullptr; ++i)
    why = mock_scalar_store(x, element_address(r, i, size), size,
                            immediate ? r->immediate[i] : get(x, r->reg[i]));
  return why;
}

const char *write(mock_exec_record_t *x) {
  const auto *r = as<isa_write>(x);
  const char *why = nullptr;
  for (uint32_t i = 0; i < std::size(r->size) && why == nullptr; ++i) {
    if (r->size[i] > sizeof(uint64_t))
      why = "store of more than 8 bytes";
    else if (r->size[i] != 0)
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
  if (r->mode != 1 && r->mode != 2)
    return "clear of an unknown kind";
  if (r->mode == 1 && r->first > r->last)
    return "range of semaphores that ends before it begins";
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
