// SPDX-License-Identifier: Apache-2.0
#include "nrt/core_choice.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "base/checked.h"
#include "base/env.h"
#include "base/nlog.h"

namespace {

constexpr const char *kVisible = "NEURON_RT_VISIBLE_CORES";
constexpr const char *kCount = "NEURON_RT_NUM_CORES";

// A whole token of decimal digits.
bool parse_number(std::string_view text, uint32_t *out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

bool parse_item(std::string_view item, uint32_t *first, uint32_t *last) {
  size_t dash = item.find('-');
  if (!parse_number(item.substr(0, dash), first))
    return false;
  *last = *first;
  if (dash != std::string_view::npos && !parse_number(item.substr(dash + 1), last))
    return false;
  return *first <= *last;
}

}  // namespace

NRT_STATUS core_list_parse(const char *variable, const char *text, uint32_t total, uint32_t *first,
                           uint32_t *count) {
  std::vector<bool> wanted(total);
  std::string_view rest = text;
  for (;;) {
    size_t comma = rest.find(',');
    std::string_view item = rest.substr(0, comma);
    uint32_t from = 0;
    uint32_t to = 0;
    if (!parse_item(item, &from, &to)) {
      NLOG_ERROR(NLOG_NRT, "{}='{}': '{}' at character {} is neither a core number nor a range a-b",
                 variable, text, item, rest.data() - text);
      return NRT_INVALID;
    }
    if (to >= total) {
      NLOG_ERROR(NLOG_NRT, "{}='{}' asks for core {}; this machine has logical cores 0 to {}",
                 variable, text, to, total - 1);
      return NRT_INVALID;
    }
    std::fill(wanted.begin() + from, wanted.begin() + to + 1, true);
    if (comma == std::string_view::npos)
      break;
    rest.remove_prefix(comma + 1);
  }
  auto begin = std::find(wanted.begin(), wanted.end(), true);
  auto end = std::find(begin, wanted.end(), false);
  if (auto beyond = std::find(end, wanted.end(), true); beyond != wanted.end()) {
    NLOG_ERROR(NLOG_NRT, "{}='{}' is not contiguous: core {} is missing below core {}", variable,
               text, end - wanted.begin(), beyond - wanted.begin());
    return NRT_INVALID;
  }
  *first = static_cast<uint32_t>(begin - wanted.begin());
  *count = static_cast<uint32_t>(end - begin);
  return NRT_SUCCESS;
}

NRT_STATUS core_choice_lnc_from_env(const hal_arch_t *arch, uint32_t *lnc) {
  const char *variable = env_is_set("NEURON_LOGICAL_NC_CONFIG") ? "NEURON_LOGICAL_NC_CONFIG"
                                                                : "NEURON_RT_VIRTUAL_CORE_SIZE";
  uint64_t value = 0;
  NRT_STATUS status = env_u64(variable, arch->default_lnc, 1, arch->max_lnc, &value);
  if (status != NRT_SUCCESS)
    return status;
  if (!is_power_of_two(value) || arch->cores_per_device % value != 0) {
    NLOG_ERROR(NLOG_NRT, "{}={} must be a power of two that divides the {} cores of a device",
               variable, value, arch->cores_per_device);
    return NRT_INVALID;
  }
  *lnc = static_cast<uint32_t>(value);
  return NRT_SUCCESS;
}

NRT_STATUS core_choice_from_env(const hal_arch_t *arch, uint32_t device_count, core_choice_t *out) {
  uint32_t lnc = 0;
  if (NRT_STATUS s = core_choice_lnc_from_env(arch, &lnc); s != NRT_SUCCESS)
    return s;
  uint32_t total = device_count * arch->cores_per_device / lnc;
  *out = {lnc, total, 0, total, false, false};
  std::string visible = env_string(kVisible, "");
  if (!visible.empty()) {
    if (env_is_set(kCount))
      NLOG_WARN(NLOG_NRT, "{} and {} are both set; {} counts", kVisible, kCount, kVisible);
    return core_list_parse(kVisible, visible.c_str(), total, &out->first_vnc, &out->num_vncs);
  }
  uint64_t count = 0;
  if (NRT_STATUS s = env_u64(kCount, 0, 0, total, &count); s != NRT_SUCCESS)
    return s;
  if (count != 0 && count != total) {
    out->num_vncs = static_cast<uint32_t>(count);
    out->anywhere = true;
  }
  return NRT_SUCCESS;
}

NRT_STATUS core_choice_place(hal_t *hal, core_choice_t *choice) {
  if (!choice->anywhere)
    return NRT_SUCCESS;
  // The driver's own search would also find runs that start inside a logical core, so each aligned
  // place is tried for itself.
  uint32_t free_run = 0;
  for (uint32_t first = 0; first + choice->num_vncs <= choice->total_vncs; ++first) {
    uint32_t claimed = 0;
    uint32_t available = 0;
    uint32_t cores = choice->num_vncs * choice->lnc;
    int rc = hal_cores_claim(hal, cores, first * choice->lnc, first * choice->lnc + cores - 1,
                             &claimed, &available);
    if (rc == 0) {
      choice->first_vnc = first;
      choice->anywhere = false;
      choice->claimed = true;
      return NRT_SUCCESS;
    }
    if (rc != -EBUSY) {
      NLOG_ERROR(NLOG_NRT, "claiming {} cores from core {} on failed: errno {}", cores,
                 first * choice->lnc, -rc);
      return NRT_FAILURE;
    }
    free_run = std::max(free_run, available / choice->lnc);
  }
  NLOG_ERROR(NLOG_NRT, "{}={}: the longest free run of logical cores is {} of {}", kCount,
             choice->num_vncs, free_run, choice->total_vncs);
  return NRT_FAILURE;
}
