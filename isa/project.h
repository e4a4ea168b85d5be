// SPDX-License-Identifier: Apache-2.0
// Encodings of this project's own, where none is public (rulings.md 20): made by the runtime, read
// by the mocked device, found in no NEFF. Everything else follows isa.h and uapi/.
#pragma once

#include <cstdint>

#include "isa/isa.h"

// --- semaphores and events of a core that belong to the runtime ----------------------------------
// A NEFF says how many of the lowest semaphores are the runtime's (runtime_semaphore_count, 3).

constexpr uint8_t PROJECT_SEM_START = 0;  // raised by the host, once per run; PE lowers it again
constexpr uint8_t PROJECT_SEM_SPARE = 1;
constexpr uint8_t PROJECT_SEM_BARRIER = 2;  // barrier of the five engines
constexpr uint32_t PROJECT_SEM_COUNT = 3;
// Event e: engine e (ACT to SP) may start its next run. Events 0 to 11 serve the runtime.
constexpr uint8_t PROJECT_EVENT_START = 0;
constexpr uint32_t PROJECT_EVENT_COUNT = 12;

// --- how an engine begins ------------------------------------------------------------------------
// A core has a block of registers per engine behind its events, PROJECT_ENGINE_BLOCK bytes from the
// start of the event block (BAR0 and device address alike). 32-bit registers.

constexpr uint64_t PROJECT_ENGINE_BLOCK = 0x8000;
constexpr uint64_t PROJECT_ENGINE_STRIDE = 0x40;  // engine e at PROJECT_ENGINE_BLOCK + e * stride
constexpr uint64_t PROJECT_ENGINE_PC_LOW = 0x00;  // device address of the next record
constexpr uint64_t PROJECT_ENGINE_PC_HIGH = 0x04;
constexpr uint64_t PROJECT_ENGINE_CONTROL = 0x08;  // write 1: run from PC; 0: halt. Reads back
constexpr uint64_t PROJECT_ENGINE_STATUS = 0x0C;   // project_engine_status_t, read only
// Device address of the directory of activation tables (below); ACT only.
constexpr uint64_t PROJECT_ENGINE_TABLES_LOW = 0x10;
constexpr uint64_t PROJECT_ENGINE_TABLES_HIGH = 0x14;

enum project_engine_status_t : uint32_t {
  PROJECT_ENGINE_HALTED = 0,
  PROJECT_ENGINE_RUNNING = 1,
  PROJECT_ENGINE_WAITING = 2,
  PROJECT_ENGINE_FAULTED = 3,  // an error record says why; writing PC and control starts it again
};

// What the resident loop of an engine reads at the start of a run: one block per core in device
// memory (the request words of dma-and-exec.md 3.6). 5 low words, 5 high words, by engine.
struct project_request_t {
  uint32_t model_switch;
  uint32_t image_low[ISA_ENGINE_COUNT];
  uint32_t image_high[ISA_ENGINE_COUNT];
  uint32_t reserved[2];
};
static_assert(sizeof(project_request_t) == 52);
// Register pair that carries the address of a branch between the resident loop and an image.
constexpr uint8_t PROJECT_BRANCH_REGISTER = 62;
// Special registers: base address of the DGE table (verified-facts.md G1).
constexpr uint8_t PROJECT_TABLE_REGISTER = 130;
constexpr uint32_t PROJECT_REGISTERS = 256;  // 64 general ones, the rest special

// --- notifications -------------------------------------------------------------------------------
// Hardware queues of a core (dma-and-exec.md 5.2): one for errors, one per engine for its status.

constexpr uint8_t PROJECT_NQ_ERROR = 2;
constexpr uint8_t PROJECT_NQ_STATUS = 4;  // + engine
constexpr uint16_t PROJECT_HINT_START = 2;
constexpr uint16_t PROJECT_HINT_END = 3;
constexpr uint8_t PROJECT_NOTIFY_ERROR = 3;                   // record type of errors
constexpr uint8_t project_notify_explicit(uint32_t engine) {  // type of START and END records
  return static_cast<uint8_t>(6 + 4 * engine);
}

// A record as the hardware writes it (dma-and-exec.md 5.1).
struct project_notification_t {
  uint16_t pc_low;         // PC: device address of the record / 64
  uint8_t pc_high_hint;    // bits 3-0: PC bits 19-16; bits 7-4: hint
  uint8_t type_flags;      // bits 4-0 type, bit 5 / 6 overflow, bit 7 phase (1 in the first lap)
  uint16_t counter;        // of runs; in error records: project_error_t
  uint16_t extended_hint;  // in error records: the engine, or ISA_ENGINE_COUNT + DMA engine
  uint64_t timestamp;      // picoseconds of simulated time
};
static_assert(sizeof(project_notification_t) == 16);
constexpr uint8_t PROJECT_NOTIFY_OVERFLOW = 0x60;  // either overflow bit
constexpr uint8_t PROJECT_NOTIFY_PHASE = 0x80;
// Register of the notification block: interrupt causes; a bit written as 1 is cleared.
constexpr uint64_t PROJECT_NQ_CAUSE = 0x1C;
constexpr uint32_t PROJECT_NQ_CAUSE_OVERFLOW = 1u << 29;

// Error types of dma-and-exec.md 4.4, then those of this project.
enum project_error_t : uint16_t {
  PROJECT_ERROR_UNDERFLOW = 0,
  PROJECT_ERROR_NAN = 1,
  PROJECT_ERROR_INFINITY = 2,
  PROJECT_ERROR_OVERFLOW = 3,
  PROJECT_ERROR_MEMORY = 4,
  PROJECT_ERROR_FAKE = 5,
  PROJECT_ERROR_SEMAPHORE = 6,
  PROJECT_ERROR_EVENT = 7,
  PROJECT_ERROR_PSUM = 8,
  PROJECT_ERROR_SEQUENCER = 9,  // record it cannot run, address where nothing is
  PROJECT_ERROR_SEQUENCER_FATAL = 10,
  PROJECT_ERROR_OUT_OF_BOUNDS = 0x100,  // a DMA beyond the bound its record gives
  PROJECT_ERROR_DMA_ABORT = 0x101,      // a DMA engine stopped
  PROJECT_ERROR_DMA_IN_FLIGHT = 0x102,  // a run ended before its DMAs (rulings.md 22)
};

// --- DMA rings that cast -------------------------------------------------------------------------
// A packet that changes data types starts, in its TX ring, with a descriptor that has the META and
// FIRST bits, length 0, PROJECT_DMA_META_CAST as meta_ctrl and both types in its address. TX data
// descriptors follow (no FIRST; LAST on the last) in bytes of the source type, as many elements as
// the RX descriptors have in bytes of the destination type. RX rings have no such descriptor.

constexpr uint32_t PROJECT_DMA_META_CAST = 4u << 23;  // engine op of the compute class
constexpr uint64_t project_dma_cast(uint8_t src_dtype, uint8_t dst_dtype) {
  return src_dtype | static_cast<uint64_t>(dst_dtype) << 8;
}

// --- activation tables ---------------------------------------------------------------------------
// One directory per model in device memory, then the sets one after the other; 0x23 loads set n.

struct project_table_set_t {
  uint64_t profiles;  // device addresses: project_profile_t each
  uint64_t control;   // 32 bytes per entry, as in the NEFF
  uint64_t buckets;   // 32 bytes per entry, as in the NEFF
  uint32_t profile_count, control_count, bucket_count;
  uint32_t reserved;
};
static_assert(sizeof(project_table_set_t) == 40);
struct project_table_directory_t {
  uint32_t set_count;
  uint32_t reserved;
  // project_table_set_t sets[set_count] follows
};
static_assert(sizeof(project_table_directory_t) == 8);

// profile_meta_data of one function (verified-facts.md G6, verified-attention.md 7); names follow
// the JSON keys.
struct project_profile_t {
  uint32_t func_id;
  int32_t exp_offset;
  uint32_t pwl_control_base_pos, pwl_control_base_neg;
  uint32_t small_pos_exp_threshold, small_neg_exp_threshold;
  uint32_t large_pos_exp_threshold, large_neg_exp_threshold;
  uint32_t large_pos_mantissa_threshold, large_neg_mantissa_threshold;
  uint32_t small_pos_pwl_control, small_neg_pwl_control;  // bucket numbers
  uint32_t large_pos_pwl_control, large_neg_pwl_control;
  uint32_t fnan_result, fpinf_result, fninf_result, fzero_result;  // fp32 bits
  uint32_t symmetry_opt_en, symmetry_opt_use_neg_region, sym_invert_sign_point;
  uint32_t fma_indirection_src_sel, use_multipass;  // not 0: not a plain cubic
  uint32_t reserved[9];
};
static_assert(sizeof(project_profile_t) == 128);
