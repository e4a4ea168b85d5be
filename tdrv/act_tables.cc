// SPDX-License-Identifier: Apache-2.0
#include "tdrv/act_tables.h"

#include <cstring>

#include "isa/project.h"

namespace {

constexpr uint64_t kAlign = 64;

// Sums of what is in host memory already: they cannot wrap.
uint64_t aligned(uint64_t size) {
  return (size + kAlign - 1) / kAlign * kAlign;
}

uint64_t directory_bytes(const kbin_t *kbin) {
  return aligned(sizeof(project_table_directory_t) +
                 kbin->act_function_sets.size() * sizeof(project_table_set_t));
}

uint64_t profile_bytes(const kbin_act_function_set_t &set) {
  return set.functions.size() * sizeof(project_profile_t);
}

// Where a set's tables begin, relative to the set, and where they end.
struct layout_t {
  uint64_t control, buckets, end;
};
layout_t layout_of(const kbin_act_function_set_t &set) {
  layout_t l;
  l.control = aligned(profile_bytes(set));
  l.buckets = l.control + aligned(set.ctl_tbl.size());
  l.end = l.buckets + aligned(set.bkt_tbl.size());
  return l;
}

project_profile_t profile_of(const kbin_act_function_t &f) {
  project_profile_t p = {};
  p.func_id = f.func_id;
  p.exp_offset = f.exp_offset;
  p.pwl_control_base_pos = f.pwl_control_base_pos;
  p.pwl_control_base_neg = f.pwl_control_base_neg;
  p.small_pos_exp_threshold = f.small_pos_exp_threshold;
  p.small_neg_exp_threshold = f.small_neg_exp_threshold;
  p.large_pos_exp_threshold = f.large_pos_exp_threshold;
  p.large_neg_exp_threshold = f.large_neg_exp_threshold;
  p.large_pos_mantissa_threshold = f.large_pos_mantissa_threshold;
  p.large_neg_mantissa_threshold = f.large_neg_mantissa_threshold;
  p.small_pos_pwl_control = f.small_pos_bucket;
  p.small_neg_pwl_control = f.small_neg_bucket;
  p.large_pos_pwl_control = f.large_pos_bucket;
  p.large_neg_pwl_control = f.large_neg_bucket;
  p.fnan_result = f.fnan_result;
  p.fpinf_result = f.fpinf_result;
  p.fninf_result = f.fninf_result;
  p.fzero_result = f.fzero_result;
  p.symmetry_opt_en = f.symmetry_opt_en;
  p.symmetry_opt_use_neg_region = f.symmetry_opt_use_neg_region;
  p.sym_invert_sign_point = f.sym_invert_sign_point;
  p.fma_indirection_src_sel = f.fma_indirection_src_sel;
  p.use_multipass = f.use_multipass ? 1 : 0;
  return p;
}

void copy_table(std::span<const uint8_t> table, uint8_t *out) {
  if (!table.empty())
    memcpy(out, table.data(), table.size());
}

}  // namespace

uint64_t act_tables_size(const kbin_t *kbin) {
  if (kbin->act_function_sets.empty())
    return 0;
  uint64_t size = directory_bytes(kbin);
  for (const kbin_act_function_set_t &set : kbin->act_function_sets)
    size += layout_of(set).end;
  return size;
}

void act_tables_build(const kbin_t *kbin, uint64_t address, uint8_t *out) {
  memset(out, 0, act_tables_size(kbin));
  project_table_directory_t directory = {};
  directory.set_count = static_cast<uint32_t>(kbin->act_function_sets.size());
  memcpy(out, &directory, sizeof directory);
  uint8_t *entry = out + sizeof directory;
  uint64_t at = directory_bytes(kbin);
  for (const kbin_act_function_set_t &set : kbin->act_function_sets) {
    const layout_t l = layout_of(set);
    project_table_set_t s = {};
    s.profiles = address + at;
    s.control = address + at + l.control;
    s.buckets = address + at + l.buckets;
    s.profile_count = static_cast<uint32_t>(set.functions.size());
    s.control_count = static_cast<uint32_t>(set.ctl_tbl.size() / KBIN_ACT_ENTRY_BYTES);
    s.bucket_count = static_cast<uint32_t>(set.bkt_tbl.size() / KBIN_ACT_ENTRY_BYTES);
    memcpy(entry, &s, sizeof s);
    entry += sizeof s;
    for (size_t i = 0; i < set.functions.size(); i++) {
      project_profile_t p = profile_of(set.functions[i]);
      memcpy(out + at + i * sizeof p, &p, sizeof p);
    }
    copy_table(set.ctl_tbl, out + at + l.control);
    copy_table(set.bkt_tbl, out + at + l.buckets);
    at += l.end;
  }
}
