// SPDX-License-Identifier: Apache-2.0
// The records lowering hands to the load side (mem-ref.md 3, 4). They live in memory only; no file
// ever holds them. kbin_mem_ref, kbin_debug_tensor_md_t and kbin_mem_ref_set_t are the contract
// layouts; everything else here is our own, compact form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "neff/neff.h"

// Kind of a variable. Not dma_mem_usage_type_t (dmem/dmem.h): the two do not convert.
enum class kbin_mr_type_t : uint32_t {
  MR_INVALID = 0,
  MR_SB = 1,
  MR_BUFFER_STAGED = 2,
  MR_BUFFER = 3,
  MR_TMP_BUF = 4,
  MR_INPUT = 5,
  MR_OUTPUT = 6,
  MR_PTR = 7,
  MR_VIRTUAL_TMP_BUF = 8,
  MR_LIST = 9,
  MR_PTR_TABLE = 10,
  MR_REMOTE = 11,
};
constexpr uint32_t KBIN_MR_TYPE_COUNT = 12;
using enum kbin_mr_type_t;

const char *kbin_mr_type_name(kbin_mr_type_t type);  // "MR_SB", ...; "MR_?" for other values

enum kbin_backing_buf_t : uint32_t {
  KBIN_BACKING_BUF_LOCAL = 0,
  KBIN_BACKING_BUF_SHARED = 1,
  KBIN_BACKING_BUF_SHARDED = 2,
  KBIN_BACKING_BUF_MAIN = 3,
};
const char *kbin_backing_buf_name(kbin_backing_buf_t buf);
// LOCAL and MAIN live in the core's own arena, SHARED and SHARDED in the shared one.
inline bool kbin_backing_buf_is_shared(kbin_backing_buf_t buf) {
  return buf == KBIN_BACKING_BUF_SHARED || buf == KBIN_BACKING_BUF_SHARDED;
}

constexpr size_t KBIN_DTYPE_MAX = 16;    // NUL included
constexpr size_t KBIN_SHAPE_MAX = 8;     // dimensions
constexpr size_t KBIN_PREFIX_MAX = 512;  // NUL included

struct kbin_debug_tensor_md_t {
  char prefix_str[KBIN_PREFIX_MAX];
  uint32_t pipe_id;
};
static_assert(sizeof(kbin_debug_tensor_md_t) == 516);

struct kbin_mem_ref {
  kbin_mr_type_t mr_type;
  char *name;  // malloc'd
  size_t size;
  size_t alignment;
  uint32_t var_id;
  char dtype[KBIN_DTYPE_MAX];
  uint64_t shape[KBIN_SHAPE_MAX];      // unused dimensions are zero
  kbin_debug_tensor_md_t *dtensor_md;  // malloc'd, or NULL
  uint8_t *buffer;  // weight payload inside the NEFF's member table, or NULL; never written
  union {
    struct {
      uint32_t var_id;  // variable pointed to
      bool io_ref;      // it is an input or output
    } ptr;
    struct {
      uint64_t offset;  // inside the arena
      kbin_backing_buf_t backing_buf;
    } virt;
    struct {
      uint32_t length;
      uint32_t *list;  // malloc'd
    } list;            // MR_LIST and MR_PTR_TABLE
    struct {
      uint32_t remote_vtpb_rel_sg_id;
      uint32_t remote_var_id;
    } remote;
  };
};
static_assert(sizeof(kbin_mem_ref) == 152);
static_assert(offsetof(kbin_mem_ref, name) == 8 && offsetof(kbin_mem_ref, size) == 16 &&
              offsetof(kbin_mem_ref, alignment) == 24 && offsetof(kbin_mem_ref, var_id) == 32 &&
              offsetof(kbin_mem_ref, dtype) == 36 && offsetof(kbin_mem_ref, shape) == 56 &&
              offsetof(kbin_mem_ref, dtensor_md) == 120 && offsetof(kbin_mem_ref, buffer) == 128 &&
              offsetof(kbin_mem_ref, ptr) == 136);

// The static memory plan of one subgraph: header and `nmem` records in one zeroed block.
struct kbin_mem_ref_set_t {
  uint64_t local_scratchpad_size;
  uint64_t shared_scratchpad_size;
  uint32_t nmem;
  kbin_mem_ref mem[];
};
static_assert(sizeof(kbin_mem_ref_set_t) == 24 && offsetof(kbin_mem_ref_set_t, mem) == 24);

// NULL when there is no memory or the size would wrap.
kbin_mem_ref_set_t *kbin_mem_ref_set_alloc(uint32_t nmem);
void kbin_mem_ref_set_free(kbin_mem_ref_set_t *set);  // names, metadata, lists, block; NULL is fine

enum al_hal_tpb_eng_type : uint32_t {
  AL_HAL_TPB_ENG_TYPE_PE = 0,
  AL_HAL_TPB_ENG_TYPE_ACT = 1,
  AL_HAL_TPB_ENG_TYPE_POOL = 2,
  AL_HAL_TPB_ENG_TYPE_DVE = 3,
  AL_HAL_TPB_ENG_TYPE_SP = 4,
  AL_HAL_TPB_ENG_TYPE_NUM = 5,
};
const char *kbin_engine_name(al_hal_tpb_eng_type type);  // "pe", "act", "pool", "dve", "sp"

// Element types of static transfers (mem-ref.md 3.5).
enum kbin_dtype : uint8_t {
  KBIN_DTYPE_NONE = 0,
  KBIN_DTYPE_FP8E3 = 1,
  KBIN_DTYPE_FP8E4 = 2,
  KBIN_DTYPE_FP8E5 = 3,
  KBIN_DTYPE_FP16 = 4,
  KBIN_DTYPE_FP32 = 5,
  KBIN_DTYPE_FP32R = 6,
  KBIN_DTYPE_BF16 = 7,
  KBIN_DTYPE_UINT8 = 8,
  KBIN_DTYPE_UINT16 = 9,
  KBIN_DTYPE_UINT32 = 10,
  KBIN_DTYPE_UINT64 = 11,
  KBIN_DTYPE_INT8 = 12,
  KBIN_DTYPE_INT16 = 13,
  KBIN_DTYPE_INT32 = 14,
  KBIN_DTYPE_INT64 = 15,
};
uint32_t kbin_dtype_size(uint8_t dtype);  // bytes per element; 0 for none or an unknown value

// One access pattern of a static transfer; sizes and steps in bytes, innermost first, at most 4.
struct kbin_dma_pattern_t {
  uint32_t var_id;
  uint64_t offset;
  uint32_t ndims;
  uint64_t sizes[4];
  int64_t steps[4];
  uint8_t dtype;  // kbin_dtype (mem-ref.md 3.5), 0 = none given
};

// Bytes [*begin, *end) of the variable that the pattern touches, holes included. False when it
// starts before the variable or does not fit 63 bits.
bool kbin_dma_pattern_range(const kbin_dma_pattern_t &pattern, uint64_t *begin, uint64_t *end);
// True when its rows follow one another without a hole, in the order of the pattern. False when its
// length does not fit 64 bits, too.
bool kbin_dma_pattern_is_contiguous(const kbin_dma_pattern_t &pattern);
// First of the outermost dimensions that are dealt over the rings of a set (num_tiling_dimensions
// below). The innermost is never dealt: the answer is 0 only for a pattern without dimensions.
uint32_t kbin_dma_pattern_first_dealt(const kbin_dma_pattern_t &pattern,
                                      int32_t num_tiling_dimensions);
// A transfer between the two converts: both name an element type, and not the same.
bool kbin_dma_pattern_converts(const kbin_dma_pattern_t &from, const kbin_dma_pattern_t &to);

enum class kbin_dma_desc_op_t : int32_t {
  INVALID = -1,
  COPY = 0,
  FMA = 1,
  ADD = 2,
  MIN = 3,
  MAX = 4,
  TRANSPOSE = 5,
  CAST = 6,  // our own number: none is published
};

struct kbin_dma_transfer_t {
  kbin_dma_desc_op_t op;
  std::vector<kbin_dma_pattern_t> from;  // one, or up to 16 for multi-source operations
  kbin_dma_pattern_t to;
  int32_t num_tiling_dimensions;             // -1 = absent (verified-facts.md G8.2)
  double scale = 1.0;                        // FMA
  int64_t constant = 0;                      // MIN, MAX with an integer constant
  double constant_fp = 0;                    // the same as float32
  uint8_t constant_dtype = KBIN_DTYPE_NONE;  // none = no constant given
  uint64_t transpose_shape[4] = {};          // TRANSPOSE; all zero = not given
  uint64_t transpose_element_size = 0;       // TRANSPOSE
};

// Whether its rows are dealt over the rings of its set; else all go to the first
// (verified-facts.md G8.2).
bool kbin_dma_transfer_is_dealt(const kbin_dma_transfer_t &transfer, size_t rings);
// What ring k gets of `rows`: equal shares, the first rings one more where they do not divide.
uint64_t kbin_dma_share(uint64_t rows, uint64_t k, uint64_t rings);

struct kbin_dma_block_t {
  uint32_t id;
  std::string queue;          // queue set
  std::string instance_name;  // ring instance, or empty
  int32_t semaphore;          // -1 = none
  int32_t event;              // -1 = none
  std::vector<uint32_t> remote_semaphores;
  std::string function_start;
  bool section_start_desc;
  uint32_t priority_class;
  al_hal_tpb_eng_type engine;  // engine file that lists it; a block of def.json: queue's owner
  std::vector<kbin_dma_transfer_t> desc;
};

enum class kbin_dma_queue_type_t : uint32_t { IN, OUT, DATA, DYNAMIC, ACT_LOAD, EMBEDDING_UPDATE };

struct kbin_dma_queue_t {
  std::string name;
  kbin_dma_queue_type_t type;
  al_hal_tpb_eng_type owner;  // AL_HAL_TPB_ENG_TYPE_NUM = none
  uint32_t num_queues;
  std::vector<uint32_t> semaphores;  // at most 32
  std::vector<std::string> queue_instances;
  bool dynamic_dma;
  uint64_t sb_scratch_offset, sb_scratch_size;
  bool indirect_memcpy;
  bool dge;
};

struct kbin_engine_t {
  al_hal_tpb_eng_type eng_type;
  std::string json_member;  // "" when def.json names none
  std::string instr_member;
  std::span<const uint8_t> instr;  // whole stream, 64-byte slots
  uint32_t ninstr;
};

constexpr uint32_t KBIN_ACT_ENTRY_BYTES = 32;  // of control and bucket tables

// One function of an activation set: profile_meta_data (verified-facts.md G6).
struct kbin_act_function_t {
  std::string name;  // "exp_400p"
  uint32_t func_id;
  int32_t exp_offset;
  uint32_t pwl_control_base_pos, pwl_control_base_neg;
  uint32_t small_pos_exp_threshold, small_neg_exp_threshold;
  uint32_t large_pos_exp_threshold, large_neg_exp_threshold;
  uint32_t large_pos_mantissa_threshold, large_neg_mantissa_threshold;
  // pos_small_signal_pwl_control and so on: bucket numbers despite their name.
  uint32_t small_pos_bucket, small_neg_bucket, large_pos_bucket, large_neg_bucket;
  uint32_t fnan_result, fpinf_result, fninf_result, fzero_result;  // fp32 bits
  uint32_t symmetry_opt_en, symmetry_opt_use_neg_region, sym_invert_sign_point;
  uint32_t fma_indirection_src_sel;
  bool use_multipass;
};

struct kbin_act_function_set_t {
  std::string name;
  std::span<const uint8_t> bkt_tbl, ctl_tbl;  // 32 bytes per entry
  std::string json_member;
  std::vector<kbin_act_function_t> functions;  // each number and control word checked
};

struct kbin_dve_config_t {
  std::span<const uint8_t> opcode_table, control_table, control_fast_table, control_slow_table,
      datapath_table;
};

// A custom-operator library; carried, not run.
struct kbin_ucode_lib_t {
  std::string library;  // member
  std::span<const uint8_t> content;
  int64_t opcode;
  uint32_t cpu_id, total_cpus;
  uint32_t num_functions;
};

struct kbin_sb_carveout_t {
  uint64_t offset, size, start_partition, num_partitions;
};

struct kbin_fp8_conv_cfg_t {
  bool fp8_range_extension = true;
  uint32_t emax_fp8_e4m3 = 8;
  uint32_t emax_fp8_e5m2 = 15;
  bool ocp_sat = true;
  bool sis = false;
  bool sns = false;
};

// What an MR_REMOTE variable asks for, by name, until all subgraphs are known (rulings.md 11).
struct kbin_remote_request_t {
  uint32_t var_id;
  uint64_t remote_sg;
  std::string remote_var;
};

// One subgraph, lowered. Spans point into the neff's member table, which `source` keeps alive.
struct kbin_t {
  std::string sg_name;     // "sg00"
  std::string definition;  // "sg00/def.json"
  std::shared_ptr<const neff> source;
  kbin_mem_ref_set_t *mem_ref_set = nullptr;
  std::vector<kbin_engine_t> engines;  // one per engine type, in type order
  std::vector<kbin_dma_queue_t> queues;
  std::vector<kbin_dma_block_t> blocks;
  std::vector<kbin_act_function_set_t> act_function_sets;
  uint32_t act_semaphore = 0;
  std::vector<kbin_dve_config_t> dve_config;
  std::vector<kbin_sb_carveout_t> sb_carveouts;
  std::vector<std::vector<std::vector<int64_t>>> replica_groups;
  std::vector<std::vector<std::vector<int64_t>>> src_target_pairs;
  std::vector<kbin_ucode_lib_t> ucode_libs;
  uint64_t num_streams = 1;
  kbin_fp8_conv_cfg_t fp8_conv_cfg;
  std::vector<kbin_remote_request_t> remote_requests;
  uint32_t num_inputs = 0, num_outputs = 0;
  uint32_t target = 0;  // al_hal_tpb_arch_type value; 0xFF = any

  kbin_t() = default;
  kbin_t(const kbin_t &) = delete;
  kbin_t &operator=(const kbin_t &) = delete;
  ~kbin_t();
};
constexpr uint32_t KBIN_TARGET_ANY = 0xFF;
