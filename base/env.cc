// SPDX-License-Identifier: Apache-2.0
#include "base/env.h"

#include <strings.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/nlog.h"

static const char *env_get(const char *name) {
  const char *value = getenv(name);
  return value != nullptr && value[0] != '\0' ? value : nullptr;
}

NRT_STATUS env_bool(const char *name, bool fallback, bool *out) {
  const char *value = env_get(name);
  if (value == nullptr) {
    *out = fallback;
    return NRT_SUCCESS;
  }
  if (strcasecmp(value, "true") == 0 || strcasecmp(value, "1") == 0) {
    *out = true;
    return NRT_SUCCESS;
  }
  if (strcasecmp(value, "false") == 0 || strcasecmp(value, "0") == 0) {
    *out = false;
    return NRT_SUCCESS;
  }
  NLOG_ERROR(NLOG_NRT, "{}='{}' is not a boolean; accepted: true, false, 1, 0", name, value);
  return NRT_INVALID;
}

NRT_STATUS env_u64(const char *name, uint64_t fallback, uint64_t min, uint64_t max, uint64_t *out) {
  const char *value = env_get(name);
  if (value == nullptr) {
    *out = fallback;
    return NRT_SUCCESS;
  }
  // strtoull alone would take signs, leading blanks and a second 0x.
  bool hex = value[0] == '0' && (value[1] == 'x' || value[1] == 'X');
  const char *digits = hex ? value + 2 : value;
  errno = 0;
  unsigned long long number = strtoull(digits, nullptr, hex ? 16 : 10);
  const char *accepted = hex ? "0123456789abcdefABCDEF" : "0123456789";
  bool only_digits = digits[0] != '\0' && digits[strspn(digits, accepted)] == '\0';
  if (!only_digits || errno == ERANGE || number < min || number > max) {
    NLOG_ERROR(NLOG_NRT, "{}='{}' is not a number from {} to {}", name, value, min, max);
    return NRT_INVALID;
  }
  *out = number;
  return NRT_SUCCESS;
}

std::string env_string(const char *name, const char *fallback) {
  const char *value = env_get(name);
  return value != nullptr ? value : fallback;
}

bool env_is_set(const char *name) {
  return env_get(name) != nullptr;
}
