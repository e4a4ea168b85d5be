// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/act.h"

#include <algorithm>
#include <cstring>

#include "mock_dev/decode.h"

namespace {

constexpr uint32_t kEntryBytes = 32;     // of control and bucket tables
constexpr uint32_t kMostControl = 4096;  // more than any file has; bounds what is looked at
constexpr uint32_t kMantissa = 0x7FFFFF;

// `count` entries of `size` bytes at a device address, as this process sees them; nullptr when they
// are not all in one memory.
const uint8_t *device_bytes(mock_host *host, uint32_t device, uint64_t address, uint64_t count,
                            uint64_t size) {
  mock_target_t target;
  if (count == 0 || !mock_decode(host, device, address, count * size, &target) ||
      !mock_target_is_memory(target.kind))
    return nullptr;
  const uint8_t *bytes = mock_memory_bytes(host, target.place.memory);
  return bytes == nullptr ? nullptr : bytes + target.place.offset;
}

uint32_t word_of(uint32_t bucket) {
  return bucket;  // shift 0, one bucket
}

// The last bucket a control word can lead to for mantissas up to `mantissa`.
uint32_t last_bucket(uint32_t word, uint32_t mantissa) {
  uint32_t mask = (1u << (word >> 16 & 0xF)) - 1;
  return (word & 0x7FF) + std::min(mask, mantissa >> (word >> 11 & 0x1F));
}

// One sign's share of a profile.
struct half_t {
  uint32_t base, small_threshold, large_threshold, large_mantissa, small, large;
};

half_t half_of(const project_profile_t &p, bool negative) {
  if (negative)
    return {p.pwl_control_base_neg,         p.small_neg_exp_threshold, p.large_neg_exp_threshold,
            p.large_neg_mantissa_threshold, p.small_neg_pwl_control,   p.large_neg_pwl_control};
  return {p.pwl_control_base_pos,         p.small_pos_exp_threshold, p.large_pos_exp_threshold,
          p.large_pos_mantissa_threshold, p.small_pos_pwl_control,   p.large_pos_pwl_control};
}

struct tables_t {
  const uint8_t *control;
  uint32_t control_count, bucket_count;
};

// The control words of one sign, for each exponent the one that holds. Zero never gets there, so
// exponent 0 stands for denormals.
const char *make_half(const half_t &h, int32_t exp_offset, const tables_t &t, bool negative,
                      mock_act_function_t *f) {
  if (h.small >= t.bucket_count || h.large >= t.bucket_count)
    return "activation tables: a function's bucket number is beyond the set's buckets";
  if (h.small_threshold > 255 || h.large_threshold > 255 || h.large_mantissa > kMantissa)
    return "activation tables: a function's threshold is out of range";
  f->large_word[negative] = word_of(h.large);
  f->large_limit[negative] = h.large_threshold << 23 | h.large_mantissa;
  for (uint32_t exponent = 0; exponent < 256; exponent++) {
    uint32_t first = std::max(exponent << 23, 1u);
    uint32_t *word = &f->control[negative][exponent];
    *word = word_of(h.large);
    if (exponent < h.small_threshold) {
      *word = word_of(h.small);
      continue;
    }
    if (first >= f->large_limit[negative] || exponent == 255)
      continue;
    int64_t index = int64_t{h.base} + exponent - 127 - exp_offset;
    if (index < 0 || index >= t.control_count)
      return "activation tables: a function's exponents lead beyond the set's control table";
    memcpy(word, t.control + index * kEntryBytes, sizeof *word);
    uint32_t most = exponent == h.large_threshold ? h.large_mantissa - 1 : kMantissa;
    if (last_bucket(*word, most) >= t.bucket_count)
      return "activation tables: a control word leads beyond the set's buckets";
  }
  return nullptr;
}

const char *make_function(const tables_t &t, mock_act_t *act, uint32_t index) {
  mock_act_function_t *f = &act->functions[index];
  const project_profile_t &p = f->profile;
  if (p.func_id > 255 || act->slot[p.func_id] != 0)
    return "activation tables: a function id is above 255 or stands there twice";
  act->slot[p.func_id] = static_cast<uint8_t>(index + 1);
  const char *wrong = make_half(half_of(p, false), p.exp_offset, t, false, f);
  return wrong != nullptr ? wrong : make_half(half_of(p, true), p.exp_offset, t, true, f);
}

const char *load(mock_host *host, uint32_t device, uint64_t directory, uint32_t set,
                 mock_act_t *act) {
  project_table_directory_t head;
  const uint8_t *bytes = device_bytes(host, device, directory, 1, sizeof head);
  if (bytes == nullptr)
    return "activation tables: no directory at the engine's address";
  memcpy(&head, bytes, sizeof head);
  if (set >= head.set_count)
    return "activation tables: the model has no set of this number";
  project_table_set_t s;
  uint64_t sets;
  if (__builtin_add_overflow(directory, sizeof head + set * sizeof s, &sets) ||
      (bytes = device_bytes(host, device, sets, 1, sizeof s)) == nullptr)
    return "activation tables: the directory leads out of memory";
  memcpy(&s, bytes, sizeof s);
  if (s.profile_count > MOCK_ACT_FUNCTIONS || s.control_count > kMostControl ||
      s.bucket_count > MOCK_ACT_BUCKETS)
    return "activation tables: a set of more than 64 functions, 4096 control words or 2048 buckets";
  const uint8_t *profiles =
      device_bytes(host, device, s.profiles, s.profile_count, sizeof(project_profile_t));
  const uint8_t *buckets = device_bytes(host, device, s.buckets, s.bucket_count, kEntryBytes);
  tables_t t = {device_bytes(host, device, s.control, s.control_count, kEntryBytes),
                s.control_count, s.bucket_count};
  if (profiles == nullptr || buckets == nullptr || t.control == nullptr)
    return "activation tables: a table of the set is empty or not in memory";
  memcpy(act->buckets, buckets, uint64_t{s.bucket_count} * kEntryBytes);
  for (uint32_t i = 0; i < s.profile_count; i++) {
    memcpy(&act->functions[i].profile, profiles + i * sizeof(project_profile_t),
           sizeof(project_profile_t));
    if (const char *wrong = make_function(t, act, i))
      return wrong;
  }
  act->function_count = s.profile_count;
  return nullptr;
}
static_assert(MOCK_ACT_FUNCTIONS == 64 && kMostControl == 4096 && MOCK_ACT_BUCKETS == 2048);

}  // namespace

const char *mock_act_table_load(mock_host *host, uint32_t device, uint64_t directory, uint32_t set,
                                mock_act_t *act) {
  act->function_count = 0;
  memset(act->slot, 0, sizeof act->slot);
  const char *wrong = load(host, device, directory, set, act);
  if (wrong != nullptr)
    memset(act->slot, 0, sizeof act->slot);
  return wrong;
}

const mock_act_function_t *mock_act_find(const mock_act_t *act, uint8_t id) {
  return act->slot[id] == 0 ? nullptr : &act->functions[act->slot[id] - 1];
}
