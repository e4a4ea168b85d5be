// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/sysfs.h"

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "mock_dev/host.h"
#include "mock_dev/reset.h"

namespace {

using ref_t = mock_sysfs_ref_t;
using text_t = char (&)[MOCK_SYSFS_TEXT];

struct names_t {
  const char *const *list;
  uint16_t count;
};

// One row of the table. Placeholders of a pattern: %d device, %c core, %n one of `names`, %s one of
// the counter's files total, present and peak. Exactly one of `show`, `value` and `counter` is set.
struct node_t {
  const char *pattern;
  uint16_t mode = 0644;
  names_t names = {};
  uint16_t stats = 0;  // how many of a counter's files exist
  // A text that stays.
  void (*show)(mock_host *host, const ref_t *ref, text_t text) = nullptr;
  // A number that changes. The device's lock is held.
  int64_t (*value)(const mock_host *host, const mock_device_t *device, const ref_t *ref) = nullptr;
  mock_counter_t *(*counter)(mock_counters_t *counters, const ref_t *ref) = nullptr;
  // nullptr: a counter goes back to zero, other files take no write.
  int (*store)(mock_host *host, const ref_t *ref, const char *text) = nullptr;
};

constexpr const char *STATS[] = {"total", "present", "peak"};

#define NAMES(array) \
  { array, sizeof(array) / sizeof((array)[0]) }

// --- machine ------------------------------------------------------------------------------------

constexpr const char *PARAMETERS[] = {"mempool_min_alloc_size",
                                      "mempool_host_memory_size",
                                      "mempool_small_pool_size",
                                      "mempool_small_alloc_max",
                                      "no_reset",
                                      "wc_enable",
                                      "dup_helper_enable",
                                      "nc_per_dev_param",
                                      "dev_nc_map",
                                      "force_userver",
                                      "force_die_flip",
                                      "userver_ctl",
                                      "userver_etimeout",
                                      "nmetric_metric_post_delay",
                                      "nmetric_log_posts"};
constexpr uint32_t PARAMETER_VALUES[] = {4096, 33554432, 1073741824, 524288, 0,   1,      1, 1,
                                         1,    0,        0,          0,      600, 150000, 1};
constexpr uint32_t NO_RESET = 4;  // the one that can be chosen
static_assert(sizeof(PARAMETERS) / sizeof(PARAMETERS[0]) ==
              sizeof(PARAMETER_VALUES) / sizeof(PARAMETER_VALUES[0]));

void show_parameter(mock_host *host, const ref_t *ref, text_t text) {
  snprintf(text, sizeof(text), "%u\n",
           ref->name == NO_RESET ? host->state->no_reset : PARAMETER_VALUES[ref->name]);
}

void show_version(mock_host *host, const ref_t *, text_t text) {
  snprintf(text, sizeof(text), "%s\n", host->state->driver_version);
}

void show_product(mock_host *host, const ref_t *, text_t text) {
  snprintf(text, sizeof(text), "%s\n", host->instance->name);
}

// No machine of the mock is part of a pod.
constexpr const char *NODE_IDS[] = {"node_id_2", "node_id_4"};
constexpr const char *SERVER_IDS[] = {"server_id_2", "server_id_4"};

void show_node_id(mock_host *, const ref_t *, text_t text) {
  snprintf(text, sizeof(text), "-1\n");
}
void show_server_id(mock_host *, const ref_t *, text_t text) {
  snprintf(text, sizeof(text), "0000000000000000\n");
}
void show_empty_line(mock_host *, const ref_t *, text_t text) {
  snprintf(text, sizeof(text), "\n");
}

// --- device -------------------------------------------------------------------------------------

// Without a newline, as the driver writes it.
void show_core_count(mock_host *host, const ref_t *, text_t text) {
  snprintf(text, sizeof(text), "%u", host->state->cores);
}

void show_neighbours(mock_host *host, const ref_t *ref, text_t text) {
  uint32_t list[NEURON_MAX_NEIGHBOURS];
  uint32_t count = mock_instance_neighbours(host->instance, ref->device, list);
  size_t used = 0;
  for (uint32_t i = 0; i < count; ++i)
    used += static_cast<size_t>(
        snprintf(text + used, sizeof(text) - used, i == 0 ? "%u" : ", %u", list[i]));
  snprintf(text + used, sizeof(text) - used, "\n");
}

int64_t device_state(const mock_host *, const mock_device_t *device, const ref_t *) {
  return device->state;
}

// Any text will do, and with the device open nothing happens.
int store_reset(mock_host *host, const ref_t *ref, const char *) {
  mock_reset_device(host, mock_host_device(host, ref->device));
  return 0;
}

int64_t notify_delay(const mock_host *host, const mock_device_t *, const ref_t *) {
  return __atomic_load_n(&host->state->notify_delay, __ATOMIC_RELAXED);
}

// One switch for all devices. Nobody can poll a file of the mock, so all it does is to be kept.
int store_notify_delay(mock_host *host, const ref_t *, const char *text) {
  char *end;
  long value = strtol(text, &end, 10);
  if (end == text || (*end != '\0' && strcmp(end, "\n") != 0) || (value != 0 && value != -1))
    return -EINVAL;
  __atomic_store_n(&host->state->notify_delay, static_cast<int32_t>(value), __ATOMIC_RELAXED);
  return 0;
}

void show_serial(mock_host *, const ref_t *ref, text_t text) {
  snprintf(text, sizeof(text), "%016" PRIx64 "\n", mock_instance_serial(ref->device));
}

struct chip_texts_t {
  const char *device_arch, *instance_type, *device_name, *core_arch;
};
constexpr chip_texts_t CHIPS[] = {
    {"NDv2", "Trn1", "Trainium1", "NCv2"},
    {"NDv3", "Inf2", "Inferentia2", "NCv2"},
    {"NDv3", "Trn2", "Trainium2", "NCv3"},
};
static_assert(MOCK_CHIP_TRN1 == 0 && MOCK_CHIP_INF2 == 1 && MOCK_CHIP_TRN2 == 2);

template <const char *chip_texts_t::*field>
void show_chip(mock_host *host, const ref_t *, text_t text) {
  snprintf(text, sizeof(text), "%s\n", CHIPS[host->instance->chip].*field);
}

constexpr const char *ECC[] = {"sram_ecc_uncorrected", "mem_ecc_uncorrected",
                               "mem_ecc_repairable_uncorrected"};

// Memory of the mock does not decay.
void show_zero(mock_host *, const ref_t *, text_t text) {
  snprintf(text, sizeof(text), "0\n");
}

// Firmware measures power; here is none to measure.
void show_power(mock_host *host, const ref_t *, text_t text) {
  snprintf(text, sizeof(text), "POWER_STATUS_NO_DATA,%" PRIu64 ",0.00,0.00,0.00\n",
           host->state->created);
}

// --- counters -----------------------------------------------------------------------------------

mock_counter_t *host_category(mock_counters_t *counters, const ref_t *ref) {
  return &counters->host_category[ref->name];
}
mock_counter_t *core_status(mock_counters_t *counters, const ref_t *ref) {
  return &counters->cores[ref->core].status[ref->name];
}
mock_counter_t *core_host_mem(mock_counters_t *counters, const ref_t *ref) {
  return &counters->cores[ref->core].host_mem;
}
mock_counter_t *core_device_mem(mock_counters_t *counters, const ref_t *ref) {
  return &counters->cores[ref->core].device_mem;
}
mock_counter_t *core_category(mock_counters_t *counters, const ref_t *ref) {
  return &counters->cores[ref->core].device_category[ref->name];
}
mock_counter_t *core_other(mock_counters_t *counters, const ref_t *ref) {
  return &counters->cores[ref->core].other[ref->name];
}

// Nothing counts cycles of the PE array.
void show_pe_counters(mock_host *, const ref_t *, text_t text) {
  snprintf(text, sizeof(text),
           "xrow_grp,mm_active,wl_active,idle\n0,0,0,0\n1,0,0,0\n2,0,0,0\n3,0,0,0\n");
}

// What a file with a changing number holds. The device's lock is held.
int64_t number_of(const node_t *node, mock_host *host, mock_device_t *device, const ref_t *ref) {
  if (node->value != nullptr)
    return node->value(host, device, ref);
  const mock_counter_t *counter = node->counter(&device->counters, ref);
  const uint64_t files[] = {counter->total, counter->present, counter->peak};
  return static_cast<int64_t>(files[ref->stat]);
}

// --- the table ----------------------------------------------------------------------------------

#define CLASS_DIR "/sys/class/neuron_device/"
#define DEVICE_DIR "/sys/devices/virtual/neuron_device/neuron%d/"
#define ARCH_DIR DEVICE_DIR "info/architecture/"
#define CORE_DIR DEVICE_DIR "neuron_core%c/"

constexpr node_t NODES[] = {
    {.pattern = "/sys/module/neuron/version", .mode = 0444, .show = show_version},
    {.pattern = "/sys/module/neuron/parameters/%n",
     .mode = 0444,
     .names = NAMES(PARAMETERS),
     .show = show_parameter},
    {.pattern = "/sys/devices/virtual/dmi/id/product_name", .mode = 0444, .show = show_product},
    {.pattern = CLASS_DIR "%n", .mode = 0444, .names = NAMES(NODE_IDS), .show = show_node_id},
    {.pattern = CLASS_DIR "%n", .mode = 0444, .names = NAMES(SERVER_IDS), .show = show_server_id},
    {.pattern = CLASS_DIR "ultraserver_mode", .mode = 0444, .show = show_empty_line},
    {.pattern = DEVICE_DIR "core_count", .mode = 0400, .show = show_core_count},
    {.pattern = DEVICE_DIR "connected_devices", .mode = 0400, .show = show_neighbours},
    {.pattern = DEVICE_DIR "reset", .mode = 0600, .value = device_state, .store = store_reset},
    {.pattern = DEVICE_DIR "info/notify_delay", .value = notify_delay, .store = store_notify_delay},
    {.pattern = DEVICE_DIR "info/serial_number", .show = show_serial},
    {.pattern = ARCH_DIR "arch_type", .show = show_chip<&chip_texts_t::device_arch>},
    {.pattern = ARCH_DIR "instance_type", .show = show_chip<&chip_texts_t::instance_type>},
    {.pattern = ARCH_DIR "device_name", .show = show_chip<&chip_texts_t::device_name>},
    {.pattern = DEVICE_DIR "stats/hardware/%n", .names = NAMES(ECC), .show = show_zero},
    {.pattern = DEVICE_DIR "stats/power/utilization", .show = show_power},
    {.pattern = DEVICE_DIR "stats/memory_usage/host_mem/%n/%s",
     .names = NAMES(MOCK_HOST_CATEGORY_NAMES),
     .stats = 3,
     .counter = host_category},
    {.pattern = CORE_DIR "info/architecture/arch_type",
     .show = show_chip<&chip_texts_t::core_arch>},
    {.pattern = CORE_DIR "stats/status/%n/%s",
     .names = NAMES(MOCK_STATUS_NAMES),
     .stats = 2,
     .counter = core_status},
    {.pattern = CORE_DIR "stats/memory_usage/host_mem/%s", .stats = 3, .counter = core_host_mem},
    {.pattern = CORE_DIR "stats/memory_usage/device_mem/%s",
     .stats = 3,
     .counter = core_device_mem},
    {.pattern = CORE_DIR "stats/memory_usage/device_mem/%n/%s",
     .names = NAMES(MOCK_DEVICE_CATEGORY_NAMES),
     .stats = 3,
     .counter = core_category},
    {.pattern = CORE_DIR "stats/other_info/%n/%s",
     .names = NAMES(MOCK_OTHER_COUNTER_NAMES),
     .stats = 2,
     .counter = core_other},
    {.pattern = CORE_DIR "stats/tensor_engine/pe_cntrs", .show = show_pe_counters},
};
constexpr uint16_t NODE_COUNT = sizeof(NODES) / sizeof(NODES[0]);

// Class entries are links to the real directories.
struct alias_t {
  const char *link, *target;
};
constexpr alias_t ALIASES[] = {
    {"/sys/class/neuron_device/neuron", "/sys/devices/virtual/neuron_device/neuron"},
    {"/sys/class/dmi/id/", "/sys/devices/virtual/dmi/id/"},
};

// Number as the kernel writes it, below `limit`.
bool take_number(const char **path, uint32_t limit, uint16_t *out) {
  const char *s = *path;
  if (*s < '0' || *s > '9' || (s[0] == '0' && s[1] >= '0' && s[1] <= '9'))
    return false;
  char *end;
  unsigned long n = strtoul(s, &end, 10);
  if (n >= limit)
    return false;
  *out = static_cast<uint16_t>(n);
  *path = end;
  return true;
}

bool take_word(const char **path, const char *const *words, uint32_t count, uint16_t *out) {
  size_t length = strcspn(*path, "/");
  for (uint32_t i = 0; i < count; ++i) {
    if (strlen(words[i]) == length && memcmp(words[i], *path, length) == 0) {
      *out = static_cast<uint16_t>(i);
      *path += length;
      return true;
    }
  }
  return false;
}

bool node_matches(const mock_state_t *state, const node_t *node, const char *path, ref_t *ref) {
  for (const char *p = node->pattern; *p != '\0'; ++p) {
    if (*p != '%') {
      if (*path++ != *p)
        return false;
      continue;
    }
    ++p;
    bool ok = *p == 'd'   ? take_number(&path, state->device_count, &ref->device)
              : *p == 'c' ? take_number(&path, state->cores, &ref->core)
              : *p == 'n' ? take_word(&path, node->names.list, node->names.count, &ref->name)
                          : take_word(&path, STATS, node->stats, &ref->stat);
    if (!ok)
      return false;
  }
  return *path == '\0';
}

// Moves one wheel of the counter `ref`; false when it came back to 0.
bool step(uint16_t *wheel, uint32_t count) {
  if (++*wheel < count)
    return true;
  *wheel = 0;
  return false;
}

// Next file of the same row and device.
bool next_in_device(uint32_t cores, ref_t *ref) {
  const node_t *node = &NODES[ref->node];
  bool per_core = strstr(node->pattern, "%c") != nullptr;
  return step(&ref->stat, node->stats) || step(&ref->name, node->names.count) ||
         step(&ref->core, per_core ? cores : 0);
}

}  // namespace

bool mock_sysfs_find(const mock_host *host, const char *path, mock_sysfs_ref_t *out) {
  char real[MOCK_SYSFS_PATH];
  for (const alias_t &alias : ALIASES) {
    size_t length = strlen(alias.link);
    if (strncmp(path, alias.link, length) != 0)
      continue;
    size_t size =
        static_cast<size_t>(snprintf(real, sizeof(real), "%s%s", alias.target, path + length));
    if (size >= sizeof(real))
      return false;
    path = real;
    break;
  }
  for (uint16_t i = 0; i < NODE_COUNT; ++i) {
    mock_sysfs_ref_t ref = {};
    ref.node = i;
    if (node_matches(host->state, &NODES[i], path, &ref)) {
      *out = ref;
      return true;
    }
  }
  return false;
}

bool mock_sysfs_next(uint32_t devices, uint32_t cores, mock_sysfs_ref_t *ref) {
  bool per_device = strstr(NODES[ref->node].pattern, "%d") != nullptr;
  return next_in_device(cores, ref) || step(&ref->device, per_device ? devices : 0) ||
         step(&ref->node, NODE_COUNT);
}

void mock_sysfs_path(const mock_sysfs_ref_t *ref, char (&path)[MOCK_SYSFS_PATH]) {
  const node_t *node = &NODES[ref->node];
  size_t used = 0;
  for (const char *p = node->pattern; *p != '\0' && used < sizeof(path); ++p) {
    char *at = path + used;
    size_t room = sizeof(path) - used;
    int n = 1;
    if (*p != '%')
      *at = *p;
    else if (*++p == 'd')
      n = snprintf(at, room, "%u", ref->device);
    else if (*p == 'c')
      n = snprintf(at, room, "%u", ref->core);
    else
      n = snprintf(at, room, "%s", *p == 'n' ? node->names.list[ref->name] : STATS[ref->stat]);
    used += static_cast<size_t>(n);
  }
  path[used < sizeof(path) ? used : sizeof(path) - 1] = '\0';
}

uint32_t mock_sysfs_mode(const mock_sysfs_ref_t *ref) {
  return NODES[ref->node].mode;
}

size_t mock_sysfs_show(mock_host *host, const mock_sysfs_ref_t *ref,
                       char (&text)[MOCK_SYSFS_TEXT]) {
  const node_t *node = &NODES[ref->node];
  if (node->show != nullptr) {
    node->show(host, ref, text);
    return strlen(text);
  }
  mock_device_t *device = mock_host_device(host, ref->device);
  mock_guard_t guard(&device->lock);
  mock_reset_settle(host, device);
  int64_t number = number_of(node, host, device, ref);
  int size = node->counter != nullptr
                 ? snprintf(text, sizeof(text), "%" PRIu64 "\n", static_cast<uint64_t>(number))
                 : snprintf(text, sizeof(text), "%" PRId64 "\n", number);
  return static_cast<size_t>(size);
}

void mock_sysfs_live(mock_host *host, uint32_t device,
                     void (*visit)(void *user, const mock_sysfs_ref_t *ref, int64_t value),
                     void *user) {
  mock_device_t *d = mock_host_device(host, device);
  mock_guard_t guard(&d->lock);
  mock_reset_settle(host, d);
  for (uint16_t i = 0; i < NODE_COUNT; ++i) {
    const node_t *node = &NODES[i];
    if (node->show != nullptr)
      continue;
    mock_sysfs_ref_t ref = {};
    ref.node = i;
    ref.device = static_cast<uint16_t>(device);
    do
      visit(user, &ref, number_of(node, host, d, &ref));
    while (next_in_device(host->state->cores, &ref));
  }
}

int mock_sysfs_store(mock_host *host, const mock_sysfs_ref_t *ref, const char *text) {
  const node_t *node = &NODES[ref->node];
  if (node->store != nullptr)
    return node->store(host, ref, text);
  if (node->counter == nullptr)
    return -EIO;
  if (*text == '\0')  // nothing was written
    return 0;
  mock_device_t *device = mock_host_device(host, ref->device);
  mock_guard_t guard(&device->lock);
  *node->counter(&device->counters, ref) = {};
  return 0;
}
