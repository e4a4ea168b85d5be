// SPDX-License-Identifier: Apache-2.0
// Texts of activation functions as compilers write them (neff-format.md 3.9).
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>

// A function object with all its keys; `values` replaces numbers by key, "" leaves the key out. As
// it stands: the identity, which needs two control entries and four buckets.
inline std::string act_function(const std::string &name, int id,
                                const std::map<std::string, std::string> &values = {}) {
  std::map<std::string, std::string> all = {{"func_name", '"' + name + '"'},
                                            {"func_id", std::to_string(id)},
                                            {"symmetry_point", "0"},
                                            {"sym_invert_sign_point", "0"},
                                            {"symmetry_opt_en", "0"},
                                            {"symmetry_opt_use_neg_region", "0"},
                                            {"imm_bias", "0"},
                                            {"exp_offset", "-127"},
                                            {"pwl_control_base_pos", "0"},
                                            {"pwl_control_base_neg", "0"},
                                            {"small_pos_signal_exp_threshold", "0"},
                                            {"pos_small_signal_pwl_control", "0"},
                                            {"small_neg_signal_exp_threshold", "0"},
                                            {"neg_small_signal_pwl_control", "0"},
                                            {"large_pos_signal_exp_threshold", "0"},
                                            {"large_pos_signal_mantissa_threshold", "0"},
                                            {"pos_large_signal_pwl_control", "0"},
                                            {"large_neg_signal_exp_threshold", "0"},
                                            {"large_neg_signal_mantissa_threshold", "0"},
                                            {"neg_large_signal_pwl_control", "0"},
                                            {"fnan_result", "2143289344"},
                                            {"fpinf_result", "2139095040"},
                                            {"fninf_result", "4286578688"},
                                            {"fzero_result", "0"},
                                            {"fma_const_0", "0"},
                                            {"fma_const_1", "0"},
                                            {"fma_indirection_src_sel", "0"},
                                            {"use_multipass", "false"},
                                            {"lower_bound", "4286578687"},
                                            {"upper_bound", "2139095039"}};
  for (const auto &[key, value] : values)
    all[key] = value;
  std::string text;
  for (const auto &[key, value] : all)
    if (!value.empty())
      text += fmt::format("{}\"{}\":{}", text.empty() ? "" : ",", key, value);
  return "{" + text + "}";
}
