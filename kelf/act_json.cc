// SPDX-License-Identifier: Apache-2.0
// Activation sets: <set>.json and its tables (neff-format.md 3.9, verified-facts.md G6).
#include <algorithm>
#include <cstring>

#include "kelf/mla_resources.h"

namespace {

using simdjson::dom::element;

constexpr uint32_t FLAG = 1, EXPONENT = 255, MANTISSA = (1u << 23) - 1;
constexpr int64_t MAX_EXP_OFFSET = 1024;  // either way; exponents of fp32 need 128

// Whole numbers of a function object.
struct number_key {
  std::string_view key;
  uint32_t kbin_act_function_t::*member;
  uint32_t max;
};
constexpr number_key NUMBERS[] = {
    {"func_id", &kbin_act_function_t::func_id, 255},
    {"pwl_control_base_pos", &kbin_act_function_t::pwl_control_base_pos, UINT32_MAX},
    {"pwl_control_base_neg", &kbin_act_function_t::pwl_control_base_neg, UINT32_MAX},
    {"small_pos_signal_exp_threshold", &kbin_act_function_t::small_pos_exp_threshold, EXPONENT},
    {"small_neg_signal_exp_threshold", &kbin_act_function_t::small_neg_exp_threshold, EXPONENT},
    {"large_pos_signal_exp_threshold", &kbin_act_function_t::large_pos_exp_threshold, EXPONENT},
    {"large_neg_signal_exp_threshold", &kbin_act_function_t::large_neg_exp_threshold, EXPONENT},
    {"large_pos_signal_mantissa_threshold", &kbin_act_function_t::large_pos_mantissa_threshold,
     MANTISSA},
    {"large_neg_signal_mantissa_threshold", &kbin_act_function_t::large_neg_mantissa_threshold,
     MANTISSA},
    {"pos_small_signal_pwl_control", &kbin_act_function_t::small_pos_bucket, UINT32_MAX},
    {"neg_small_signal_pwl_control", &kbin_act_function_t::small_neg_bucket, UINT32_MAX},
    {"pos_large_signal_pwl_control", &kbin_act_function_t::large_pos_bucket, UINT32_MAX},
    {"neg_large_signal_pwl_control", &kbin_act_function_t::large_neg_bucket, UINT32_MAX},
    {"fnan_result", &kbin_act_function_t::fnan_result, UINT32_MAX},
    {"fpinf_result", &kbin_act_function_t::fpinf_result, UINT32_MAX},
    {"fninf_result", &kbin_act_function_t::fninf_result, UINT32_MAX},
    {"fzero_result", &kbin_act_function_t::fzero_result, UINT32_MAX},
    {"symmetry_opt_en", &kbin_act_function_t::symmetry_opt_en, FLAG},
    {"symmetry_opt_use_neg_region", &kbin_act_function_t::symmetry_opt_use_neg_region, FLAG},
    {"sym_invert_sign_point", &kbin_act_function_t::sym_invert_sign_point, FLAG},
    {"fma_indirection_src_sel", &kbin_act_function_t::fma_indirection_src_sel, UINT32_MAX},
};
constexpr size_t NUM_NUMBERS = std::size(NUMBERS);
enum { F_NAME = NUM_NUMBERS, F_EXP_OFFSET, F_MULTIPASS, NUM_FIELDS };

// What holds for one sign of the argument.
struct half {
  bool negative;
  uint32_t base, small_threshold, large_threshold, large_mantissa, small_bucket, large_bucket;
};
half positive_half(const kbin_act_function_t &f) {
  return {false,
          f.pwl_control_base_pos,
          f.small_pos_exp_threshold,
          f.large_pos_exp_threshold,
          f.large_pos_mantissa_threshold,
          f.small_pos_bucket,
          f.large_pos_bucket};
}
half negative_half(const kbin_act_function_t &f) {
  return {true,
          f.pwl_control_base_neg,
          f.small_neg_exp_threshold,
          f.large_neg_exp_threshold,
          f.large_neg_mantissa_threshold,
          f.small_neg_bucket,
          f.large_neg_bucket};
}

uint64_t entries(std::span<const uint8_t> table) {
  return table.size() / KBIN_ACT_ENTRY_BYTES;
}

NRT_STATUS check_bucket(const kbin_act_function_set_t &set, uint32_t bucket,
                        const json_place &place, std::string_view key) {
  if (bucket < entries(set.bkt_tbl))
    return NRT_SUCCESS;
  return json_place(place, key).fail("is {}, the set has {} buckets", bucket, entries(set.bkt_tbl));
}

// The last bucket that a control word leads to for mantissas up to `mantissa`.
uint32_t last_bucket(uint32_t word, uint32_t mantissa) {
  uint32_t mask = (1u << (word >> 16 & 0xF)) - 1;
  return (word & 0x7FF) + std::min(mask, mantissa >> (word >> 11 & 0x1F));
}

// Every exponent between the thresholds has its control word, and that its buckets.
NRT_STATUS check_half(const kbin_act_function_set_t &set, const kbin_act_function_t &f,
                      const half &h, const json_place &place) {
  NRT_STATUS status =
      check_bucket(set, h.small_bucket, place,
                   h.negative ? "neg_small_signal_pwl_control" : "pos_small_signal_pwl_control");
  if (status == NRT_SUCCESS)
    status =
        check_bucket(set, h.large_bucket, place,
                     h.negative ? "neg_large_signal_pwl_control" : "pos_large_signal_pwl_control");
  if (status != NRT_SUCCESS)
    return status;
  json_place base(place, h.negative ? "pwl_control_base_neg" : "pwl_control_base_pos");
  const uint32_t limit = h.large_threshold << 23 | h.large_mantissa;
  for (uint32_t exponent = h.small_threshold; exponent < EXPONENT; exponent++) {
    if (std::max(exponent << 23, 1u) >= limit)  // zero has a result of its own
      return NRT_SUCCESS;
    int64_t entry = int64_t{h.base} + exponent - 127 - f.exp_offset;
    if (entry < 0 || static_cast<uint64_t>(entry) >= entries(set.ctl_tbl))
      return base.fail("is {}, which makes control entry {} for exponent {}, the set has {}",
                       h.base, entry, exponent, entries(set.ctl_tbl));
    uint32_t word;
    memcpy(&word, set.ctl_tbl.data() + entry * KBIN_ACT_ENTRY_BYTES, sizeof word);
    uint32_t most = exponent == h.large_threshold ? h.large_mantissa - 1 : MANTISSA;
    if (last_bucket(word, most) >= entries(set.bkt_tbl))
      return base.fail("leads over control entry {} to bucket {}, the set has {}", entry,
                       last_bucket(word, most), entries(set.bkt_tbl));
  }
  return NRT_SUCCESS;
}

NRT_STATUS read_exp_offset(const json_field &field, const json_place &place, int32_t *out) {
  if (!field.present)
    return json_missing(field, place);
  json_place at(place, field.key);
  int64_t value = 0;
  NRT_STATUS status = json_to_int(field.value, at, &value);
  if (status != NRT_SUCCESS)
    return status;
  if (value < -MAX_EXP_OFFSET || value > MAX_EXP_OFFSET)
    return at.fail("is {}, the limits are {} and {}", value, -MAX_EXP_OFFSET, MAX_EXP_OFFSET);
  *out = static_cast<int32_t>(value);
  return NRT_SUCCESS;
}

NRT_STATUS read_function(element value, const json_place &place, kbin_act_function_t *out) {
  json_field f[NUM_FIELDS];
  for (size_t i = 0; i < NUM_NUMBERS; i++)
    f[i].key = NUMBERS[i].key;
  f[F_NAME].key = "func_name";
  f[F_EXP_OFFSET].key = "exp_offset";
  f[F_MULTIPASS].key = "use_multipass";
  std::string_view name;
  NRT_STATUS status = json_pick(value, place, f);
  for (size_t i = 0; status == NRT_SUCCESS && i < NUM_NUMBERS; i++)
    status = json_uint32(f[i], JSON_REQUIRED, place, NUMBERS[i].max, &(out->*NUMBERS[i].member));
  if (status == NRT_SUCCESS)
    status = json_string(f[F_NAME], JSON_REQUIRED, place, &name);
  if (status == NRT_SUCCESS)
    status = read_exp_offset(f[F_EXP_OFFSET], place, &out->exp_offset);
  if (status == NRT_SUCCESS)
    status = json_bool(f[F_MULTIPASS], JSON_REQUIRED, place, &out->use_multipass);
  out->name = name;
  return status;
}

NRT_STATUS add_function(element value, const json_place &place, kbin_act_function_set_t *set) {
  kbin_act_function_t function{};
  NRT_STATUS status = read_function(value, place, &function);
  if (status != NRT_SUCCESS)
    return status;
  for (const kbin_act_function_t &other : set->functions)
    if (other.func_id == function.func_id)
      return json_place(place, "func_id")
          .fail("is {}, as that of \"{}\"", function.func_id, json_excerpt(other.name));
  status = check_half(*set, function, positive_half(function), place);
  if (status == NRT_SUCCESS)
    status = check_half(*set, function, negative_half(function), place);
  if (status == NRT_SUCCESS)
    set->functions.push_back(std::move(function));
  return status;
}

NRT_STATUS read_functions(const json_field &field, const json_place &place,
                          kbin_act_function_set_t *set) {
  if (!field.present)  // a set whose functions nobody uses
    return NRT_SUCCESS;
  simdjson::dom::array functions;
  json_place here(place, field.key);
  NRT_STATUS status = json_to_array(field.value, here, &functions);
  if (status != NRT_SUCCESS)
    return status;
  if (functions.size() > KELF_MAX_ACT_FUNCTIONS)
    return here.fail("{} functions, the limit is {}", functions.size(), KELF_MAX_ACT_FUNCTIONS);
  json_steps steps(place.findings());
  size_t index = 0;
  for (element item : functions)
    if (steps.stop(add_function(item, json_place(here, index++), set)))
      break;
  return steps.status();
}

// One table of a set: as long as its entry count says.
NRT_STATUS read_table(const mla_resources &res, const json_field &file, const json_field &count,
                      const json_place &place, std::span<const uint8_t> *out) {
  uint64_t number = 0;
  NRT_STATUS status = mla_read_member(res, file, JSON_REQUIRED, place, out);
  if (status == NRT_SUCCESS)
    status = json_uint(count, JSON_REQUIRED, place, UINT32_MAX, &number);
  if (status != NRT_SUCCESS)
    return status;
  if (out->size() != number * KBIN_ACT_ENTRY_BYTES)
    return json_place(place, count.key)
        .fail("is {}, which makes {} bytes, but the table has {} (\"{}\")", number,
              number * KBIN_ACT_ENTRY_BYTES, out->size(), json_field_text(file));
  return NRT_SUCCESS;
}

NRT_STATUS parse_set(mla_resources &res, const std::string &name, const json_place &named_at) {
  std::span<const uint8_t> member;
  NRT_STATUS status = mla_need_member(res, name + ".json", named_at, &member);
  if (status != NRT_SUCCESS)
    return status;
  kbin_act_function_set_t set{};
  set.name = name;
  set.json_member = res.directory + name + ".json";
  json_place root(set.json_member, named_at.findings());
  json_document document;
  json_field f[] = {
      {"bkt_bin"}, {"bkt_entry_cnt"}, {"ctl_bin"}, {"ctl_entry_cnt"}, {"profile_meta_data"}};
  status = json_parse(member, root, &document);
  if (status == NRT_SUCCESS)
    status = json_pick(document.root, root, f);
  if (status == NRT_SUCCESS)
    status = read_table(res, f[0], f[1], root, &set.bkt_tbl);
  if (status == NRT_SUCCESS)
    status = read_table(res, f[2], f[3], root, &set.ctl_tbl);
  if (status == NRT_SUCCESS)
    status = read_functions(f[4], root, &set);
  if (status == NRT_SUCCESS)
    res.kbin->act_function_sets.push_back(std::move(set));
  return status;
}

}  // namespace

NRT_STATUS act_sets_parse(mla_resources &res, const json_field &field, const json_place &place) {
  std::vector<std::string> names;
  NRT_STATUS status = json_string_list(field, JSON_OPTIONAL, place, &names);
  if (status != NRT_SUCCESS)
    return status;
  json_place here(place, field.key);
  json_steps steps(place.findings());
  std::set<std::string_view> seen;
  for (size_t i = 0; i < names.size(); i++) {
    json_place at(here, i);
    status = seen.insert(names[i]).second ? parse_set(res, names[i], at)
                                          : at.fail("\"{}\" given twice", json_excerpt(names[i]));
    if (steps.stop(status))
      break;
  }
  return steps.status();
}
