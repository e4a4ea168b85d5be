// SPDX-License-Identifier: Apache-2.0
// The mock's options from the environment.
#include <cctype>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "mock_dev/dispatch.h"
#include "mock_dev/exec_state.h"
#include "mock_dev/fault.h"
#include "mock_dev/instance.h"
#include "mock_dev/mock_dev.h"
#include "mock_dev/state.h"

namespace {

// Where the strings and the plan of the last call live.
char instance_text[64];
char version_text[64];
char sysfs_text[4096];
mock_fault_t fault_list[MOCK_MAX_FAULTS];

struct complaint_t {
  char *text;
  size_t size;
};

__attribute__((format(printf, 2, 3))) int fail(const complaint_t *error, const char *format, ...) {
  if (error->text != nullptr && error->size != 0) {
    va_list args;
    va_start(args, format);
    vsnprintf(error->text, error->size, format, args);
    va_end(args);
  }
  return -EINVAL;
}

// Unsigned number at the start of *at (0x for hexadecimal), moving *at past it.
bool number_take(const char **at, uint64_t *out) {
  const char *s = *at;
  if (!isdigit(static_cast<unsigned char>(*s)))
    return false;
  int base = s[0] == '0' && (s[1] == 'x' || s[1] == 'X') ? 16 : 10;
  char *end;
  errno = 0;
  unsigned long long n = strtoull(s, &end, base);
  if (errno != 0 || end == s)
    return false;
  *at = end;
  *out = n;
  return true;
}

const char *env_of(const char *name) {
  const char *value = getenv(name);  // NOLINT(concurrency-mt-unsafe): read at start
  return value != nullptr && *value != '\0' ? value : nullptr;
}

int read_text(const char *name, char *text, size_t size, const char **out,
              const complaint_t *error) {
  const char *value = env_of(name);
  if (value == nullptr)
    return 0;
  if (strlen(value) >= size)
    return fail(error, "%s=%.32s...: accepted are up to %zu characters", name, value, size - 1);
  memcpy(text, value, strlen(value) + 1);
  *out = text;
  return 0;
}

int read_instance(mock_dev_options_t *out, const complaint_t *error) {
  int rc = read_text("NEURON_MOCK_INSTANCE", instance_text, sizeof(instance_text), &out->instance,
                     error);
  if (rc != 0 || out->instance == nullptr || mock_instance_find(out->instance) != nullptr)
    return rc;
  char names[256];
  size_t used = 0;
  for (const char *const *n = mock_instance_names(); *n != nullptr && used < sizeof(names); ++n)
    used += static_cast<size_t>(
        snprintf(names + used, sizeof(names) - used, used == 0 ? "%s" : ", %s", *n));
  return fail(error, "NEURON_MOCK_INSTANCE=%s: accepted are %s", out->instance, names);
}

int read_api_range(mock_dev_options_t *out, const complaint_t *error) {
  const char *value = env_of("NEURON_MOCK_API_RANGE");
  if (value == nullptr)
    return 0;
  uint64_t min, max;
  const char *at = value;
  if (!number_take(&at, &min) || *at++ != '-' || !number_take(&at, &max) || *at != '\0' ||
      min > max || max == 0 || max > UINT32_MAX)
    return fail(error, "NEURON_MOCK_API_RANGE=%s: accepted is min-max, for example 10-11", value);
  out->api_min = static_cast<uint32_t>(min);
  out->api_max = static_cast<uint32_t>(max);
  return 0;
}

int read_features(mock_dev_options_t *out, const complaint_t *error) {
  const char *value = env_of("NEURON_MOCK_HIDE_FEATURES");
  const char *at = value;
  if (value != nullptr && (!number_take(&at, &out->hidden_features) || *at != '\0'))
    return fail(error, "NEURON_MOCK_HIDE_FEATURES=%s: accepted is a number, for example 0x40",
                value);
  return 0;
}

int read_hbm_size(mock_dev_options_t *out, const complaint_t *error) {
  const char *value = env_of("NEURON_MOCK_HBM_SIZE");
  if (value == nullptr)
    return 0;
  const mock_instance_t *instance = out->instance != nullptr ? mock_instance_find(out->instance)
                                                             : mock_instance_find("trn2.3xlarge");
  uint64_t real = neuron_hbm_size(instance->arch);
  const char *at = value;
  uint64_t size, scaled;
  bool ok = number_take(&at, &size);
  uint32_t shift = 0;
  if (ok && *at != '\0') {
    shift = *at == 'K' ? 10 : *at == 'M' ? 20 : *at == 'G' ? 30 : 0;
    ok = shift != 0 && at[1] == '\0';
  }
  ok = ok && !__builtin_mul_overflow(size, 1ull << shift, &scaled);
  if (!ok || scaled % MOCK_PAGE != 0 || scaled < 2 * NEURON_HBM_SMALL_POOL || scaled > real)
    return fail(error,
                "NEURON_MOCK_HBM_SIZE=%s: accepted are multiples of 4096 from 2G to %lluG, with "
                "suffix K, M or G",
                value, static_cast<unsigned long long>(real >> 30));
  out->hbm_size = scaled;
  return 0;
}

int read_switch(const char *name, bool *out, const complaint_t *error) {
  const char *value = env_of(name);
  if (value == nullptr)
    return 0;
  if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0)
    return fail(error, "%s=%s: accepted are 0 and 1", name, value);
  *out = *value == '1';
  return 0;
}

int read_number(const char *name, uint64_t min, uint64_t max, uint64_t *out,
                const complaint_t *error) {
  const char *value = env_of(name);
  uint64_t n;
  const char *at = value;
  if (value == nullptr)
    return 0;
  if (!number_take(&at, &n) || *at != '\0' || n < min || n > max)
    return fail(error, "%s=%s: accepted are %llu to %llu", name, value,
                static_cast<unsigned long long>(min), static_cast<unsigned long long>(max));
  *out = n;
  return 0;
}

int read_reset_ms(mock_dev_options_t *out, const complaint_t *error) {
  uint64_t ms = 0;
  int rc = read_number("NEURON_MOCK_RESET_MS", 0, MOCK_MAX_RESET_MS, &ms, error);
  out->reset_ms = static_cast<uint32_t>(ms);
  return rc;
}

int read_execution(mock_dev_options_t *out, const complaint_t *error) {
  uint64_t threads = 0;
  int rc = read_number("NEURON_MOCK_SEED", 0, UINT64_MAX, &out->seed, error);
  if (rc == 0)
    rc = read_number("NEURON_MOCK_THREADS", 1, MOCK_EXEC_MAX_THREADS, &threads, error);
  if (rc == 0)
    rc = read_switch("NEURON_MOCK_RACES", &out->races, error);
  if (rc == 0)
    rc = read_switch("NEURON_MOCK_EXACT_FUNCTIONS", &out->exact_functions, error);
  out->threads = static_cast<uint32_t>(threads);
  return rc;
}

// One REQUEST:NTH:ERRNO[+], moving *at past it.
bool fault_take(const char **at, mock_fault_t *out) {
  const char *name = *at;
  size_t length = strcspn(name, ":,");
  *out = {};
  if (name[length] != ':')
    return false;
  if (length != 1 || name[0] != '*') {
    out->request = mock_request_by_name(name, length);
    if (out->request == 0)
      return false;
  }
  *at = name + length + 1;
  uint64_t nth, error;
  if (!number_take(at, &nth) || *(*at)++ != ':' || !number_take(at, &error) || nth > UINT32_MAX ||
      error > INT32_MAX)
    return false;
  out->nth = static_cast<uint32_t>(nth);
  out->error = static_cast<int>(error);
  if (**at == '+') {
    out->sticky = true;
    ++*at;
  }
  return mock_faults_check(out, 1) == 0;
}

int read_faults(mock_dev_options_t *out, const complaint_t *error) {
  const char *value = env_of("NEURON_MOCK_FAULT");
  if (value == nullptr)
    return 0;
  size_t count = 0;
  for (const char *at = value;;) {
    const char *entry = at;
    if (count == MOCK_MAX_FAULTS)
      return fail(error, "NEURON_MOCK_FAULT: accepted are up to %u entries", MOCK_MAX_FAULTS);
    if (!fault_take(&at, &fault_list[count]) || (*at != '\0' && *at != ','))
      return fail(error,
                  "NEURON_MOCK_FAULT entry %.*s: accepted is REQUEST:NTH:ERRNO[+], for example "
                  "MEM_ALLOC_V2MT64:3:12, with * for any request, or RESET, MAILBOX, NOTIFICATION, "
                  "NQ_OVERFLOW, DMA_ABORT, ERROR_RECORD, ENGINE, SLOW, NTH from 1, "
                  "ERRNO 1 to 4095",
                  static_cast<int>(strcspn(entry, ",")), entry);
    ++count;
    if (*at++ == '\0')
      break;
  }
  out->faults = fault_list;
  out->fault_count = count;
  return 0;
}

}  // namespace

int mock_dev_options_from_env(mock_dev_options_t *out, char *error, size_t error_size) {
  complaint_t e = {error, error_size};
  *out = {};
  int rc = read_instance(out, &e);
  if (rc == 0)
    rc = read_text("NEURON_MOCK_DRIVER_VERSION", version_text, sizeof(version_text),
                   &out->driver_version, &e);
  if (rc == 0)
    rc = read_api_range(out, &e);
  if (rc == 0)
    rc = read_features(out, &e);
  if (rc == 0)
    rc = read_hbm_size(out, &e);
  if (rc == 0)
    rc = read_switch("NEURON_MOCK_STRICT", &out->poison, &e);
  if (rc == 0)
    rc = read_switch("NEURON_MOCK_NO_RESET", &out->no_reset, &e);
  if (rc == 0)
    rc = read_reset_ms(out, &e);
  if (rc == 0)
    rc = read_execution(out, &e);
  if (rc == 0)
    rc = read_text("NEURON_MOCK_SYSFS_DIR", sysfs_text, sizeof(sysfs_text), &out->sysfs_dir, &e);
  return rc != 0 ? rc : read_faults(out, &e);
}
