// SPDX-License-Identifier: Apache-2.0
// Working set of one subgraph's lowering and the steps that fill it. Private to kelf/.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kelf/json.h"
#include "kelf/kelf.h"
#include "kelf/mem_ref_info.h"

constexpr uint64_t KELF_SB_APERTURE = 32ull << 20;     // state buffer as transfers address it
constexpr uint64_t KELF_SB_PARTITION_STRIDE = 262144;  // bytes from one partition to the next
constexpr uint32_t KELF_SB_PARTITIONS = 128;
constexpr uint32_t KELF_NUM_SEMAPHORES = 256;  // per core; events likewise
constexpr uint32_t KELF_MAX_QUEUE_SETS = 32;
constexpr uint32_t KELF_MAX_QUEUES = 16;  // per set
constexpr uint32_t KELF_MAX_QUEUE_SEMAPHORES = 32;
constexpr uint32_t KELF_MAX_SOURCES = 16;  // of one transfer
constexpr uint32_t KELF_MAX_DMA_DIMS = 4;
constexpr uint32_t KELF_MAX_ACT_FUNCTIONS = 25;  // per activation set
constexpr uint32_t KELF_MAX_EXT_ISA_OPS = 18;
constexpr uint32_t KELF_INSTR_BYTES = 64;

struct mla_resources {
  std::shared_ptr<const neff> source;
  const kelf_options *options = nullptr;
  std::string definition;  // "sg00/def.json"
  std::string directory;   // "sg00/", or empty for a definition at the root
  uint32_t target = 0;
  kbin_t *kbin = nullptr;  // receives everything but the variables

  mem_ref_info mi;
  // False once a variable was refused (collect mode goes on): then an unknown name or id says
  // nothing new and is not reported.
  bool vars_complete = true;
  uint32_t num_inputs = 0, num_outputs = 0;
  std::vector<uint32_t> referring;  // ids of pointers, lists and tables: checked when all are known

  // Scratchpad areas (README.md): end of the highest variable of each.
  uint64_t main_end = 0, alt_end = 0, shared_end = 0;
  std::vector<mem_ref_virtual_tmp_buf *> alt_vars;  // moved behind the main area at the end
  std::string first_shared, first_sharded;          // names, to report a plan that mixes the two

  bool queues_complete = true;  // as vars_complete
  // Index into kbin->queues by the names blocks use.
  std::map<std::string, size_t, std::less<>> queue_by_name, queue_by_instance;
  std::set<std::pair<std::string, uint32_t>> block_ids;  // (queue or instance, id) seen so far

  const std::span<const uint8_t> *find_member(std::string_view file) const {
    return source->find(directory + std::string(file));
  }
};

// A member beside def.json that `place` names; in the second form the one a field names.
NRT_STATUS mla_need_member(const mla_resources &res, std::string_view file, const json_place &place,
                           std::span<const uint8_t> *out);
NRT_STATUS mla_read_member(const mla_resources &res, const json_field &field,
                           json_presence presence, const json_place &place,
                           std::span<const uint8_t> *out);

// Reads one entry of `var` and adds its object to res.mi (mem-ref.md 7, 8.1).
NRT_STATUS parse_one_variable(mla_resources &res, std::string_view name,
                              simdjson::dom::element entry, const json_place &place);
// Whole-table checks and everything that needs all variables: dense ids, outputs, targets of
// pointers, entries of lists and tables, areas.
NRT_STATUS def_vars_check(mla_resources &res, const json_place &place);

NRT_STATUS def_queues_parse(mla_resources &res, simdjson::dom::element value,
                            const json_place &place);

NRT_STATUS def_reservation_parse(mla_resources &res, const json_field &field,
                                 const json_place &place);
NRT_STATUS def_fp8_parse(mla_resources &res, simdjson::dom::element value, const json_place &place);
// replica_groups and src_target_pairs: topologies of groups of ranks, or one level less.
NRT_STATUS def_groups_parse(simdjson::dom::element value, const json_place &place,
                            std::vector<std::vector<std::vector<int64_t>>> *out);
NRT_STATUS def_ucode_parse(mla_resources &res, simdjson::dom::element value,
                           const json_place &place);
NRT_STATUS def_ext_isa_check(simdjson::dom::element value, const json_place &place);

// The engine's JSON file, its stream and its tables.
// activation_function_sets of the activation engine's JSON: sets with tables and functions.
NRT_STATUS act_sets_parse(mla_resources &res, const json_field &field, const json_place &place);
NRT_STATUS engine_json_parse(mla_resources &res, al_hal_tpb_eng_type type, std::string_view file,
                             const json_place &place);

// A `dma` array. `engine` NUM: blocks of def.json itself, which go to their queue's owner.
NRT_STATUS dma_blocks_parse(mla_resources &res, simdjson::dom::element value,
                            al_hal_tpb_eng_type engine, const json_place &place);

// Serialises the variables into res.kbin->mem_ref_set.
NRT_STATUS gen_kbin_mem_ref_set(mla_resources &res, const json_place &place);

bool kelf_engine_by_name(std::string_view name, al_hal_tpb_eng_type *out);
bool kelf_dtype_by_name(std::string_view name, uint8_t *out);

// Array data of a .npy member (NumPy 1.0): bytes behind the header.
NRT_STATUS npy_payload(std::span<const uint8_t> file, const json_place &place,
                       std::span<const uint8_t> *out);

// neff.json: I/O tensors and the kelf member's name.
NRT_STATUS neff_json_parse(const neff &source, finding_sink &findings, kelf_nn_t *nn);

struct kelf_graph {
  std::string name, definition;
};
NRT_STATUS kelf_json_parse(const neff &source, finding_sink &findings, kelf_nn_t *nn,
                           std::vector<kelf_graph> *graphs);
