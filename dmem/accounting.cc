// SPDX-License-Identifier: Apache-2.0
#include "dmem/accounting.h"

#include <cstdio>
#include <cstring>
#include <new>
#include <utility>

#include "base/env.h"
#include "base/nlog.h"
#include "dmem/dmem_impl.h"
#include "dmem/report_table.h"
#include "uapi/neuron_shared.h"

namespace {

constexpr uint64_t kMemlogDefault = 1048576;
constexpr uint64_t kMemlogLimit = uint64_t{1} << 26;

// Marks a usage that may not live at a location.
constexpr uint32_t kNone = NEURON_MEM_CATEGORY_COUNT;

struct usage_row_t {
  const char *name, *key;
  dmem_column_t column;
  uint32_t host, device;  // driver categories
};

// Indexed by usage. POOL instructions are code and IO is runtime memory (rulings.md 4).
constexpr usage_row_t kUsages[DMEM_USAGE_COUNT] = {
    {"generic", "generic", dmem_column_t::RUNTIME, NEURON_MEM_MISC_HOST, NEURON_MEM_MISC_DEVICE},
    {"pe instructions", "pe", dmem_column_t::MODEL_CODE, NEURON_MEM_CODE_HOST,
     NEURON_MEM_CODE_DEVICE},
    {"act instructions", "act", dmem_column_t::MODEL_CODE, NEURON_MEM_CODE_HOST,
     NEURON_MEM_CODE_DEVICE},
    {"pool instructions", "pool", dmem_column_t::MODEL_CODE, NEURON_MEM_CODE_HOST,
     NEURON_MEM_CODE_DEVICE},
    {"io", "io", dmem_column_t::RUNTIME, NEURON_MEM_MISC_HOST, NEURON_MEM_MISC_DEVICE},
    {"dram spill", "spill", dmem_column_t::RUNTIME, NEURON_MEM_MISC_HOST, NEURON_MEM_MISC_DEVICE},
    {"weight", "weight", dmem_column_t::MODEL_CONSTANTS, NEURON_MEM_CONSTANTS_HOST,
     NEURON_MEM_CONSTANTS_DEVICE},
    {"notification", "profiler_buffers", dmem_column_t::PROFILER_BUFFERS,
     NEURON_MEM_NOTIFICATION_HOST, NEURON_MEM_NOTIFICATION_DEVICE},
    {"activation table", "act_table", dmem_column_t::RUNTIME, NEURON_MEM_MISC_HOST,
     NEURON_MEM_MISC_DEVICE},
    {"dve instructions", "dve", dmem_column_t::MODEL_CODE, NEURON_MEM_CODE_HOST,
     NEURON_MEM_CODE_DEVICE},
    {"sp instructions", "sp", dmem_column_t::MODEL_CODE, NEURON_MEM_CODE_HOST,
     NEURON_MEM_CODE_DEVICE},
    {"shared scratchpad", "shared_scratchpad", dmem_column_t::SHARED_SCRATCHPAD, kNone,
     NEURON_MEM_SCRATCHPAD_DEVICE},
    {"tensors", "tensor", dmem_column_t::TENSORS, NEURON_MEM_TENSORS_HOST,
     NEURON_MEM_TENSORS_DEVICE},
    {"microcode library", "ucode", dmem_column_t::MODEL_CODE, NEURON_MEM_CODE_HOST,
     NEURON_MEM_CODE_DEVICE},
    {"pool stdio", "pool_stdio", dmem_column_t::RUNTIME, NEURON_MEM_MISC_HOST,
     NEURON_MEM_MISC_DEVICE},
    {"collectives", "collectives", dmem_column_t::COLLECTIVES, kNone,
     NEURON_MEM_COLLECTIVES_DEVICE},
    {"scratchpad", "scratchpad", dmem_column_t::SCRATCHPAD, kNone,
     NEURON_MEM_SCRATCHPAD_NONSHARED_DEVICE},
    {"xt cc", "xt_cc", dmem_column_t::RUNTIME, NEURON_MEM_MISC_HOST, NEURON_MEM_MISC_DEVICE},
    {"dma rings", "dma_rings_runtime", dmem_column_t::DMA_RINGS_RUNTIME, NEURON_MEM_DMA_RINGS_HOST,
     NEURON_MEM_DMA_RINGS_DEVICE},
    {"dma rings spill", "dma_rings_spill", dmem_column_t::DMA_RINGS_SPILL,
     NEURON_MEM_DMA_RINGS_HOST, NEURON_MEM_DMA_RINGS_DEVICE},
    {"dma rings io", "dma_rings_io", dmem_column_t::DMA_RINGS_IO, NEURON_MEM_DMA_RINGS_HOST,
     NEURON_MEM_DMA_RINGS_DEVICE},
    {"dma rings collectives", "dma_rings_collectives", dmem_column_t::DMA_RINGS_COLLECTIVES,
     NEURON_MEM_DMA_RINGS_HOST, NEURON_MEM_DMA_RINGS_DEVICE},
};

}  // namespace

NRT_STATUS dmem_device_create(uint32_t device_id, dmem_device_t **out) {
  *out = nullptr;
  uint64_t events = 0;
  dmem_report_options_t report = {};
  NRT_STATUS status =
      env_u64("NEURON_RT_DEBUG_MEMLOG_MAX_SIZE", kMemlogDefault, 0, kMemlogLimit, &events);
  if (status == NRT_SUCCESS)
    status = env_bool("NEURON_RT_ENABLE_DEVICE_MEMORY_OOM_LOG", true, &report.enabled);
  if (status == NRT_SUCCESS)
    status = env_bool("NEURON_RT_DBG_VERBOSE_DEV_MEM", false, &report.per_usage);
  if (status != NRT_SUCCESS)
    return status;
  auto *device = new (std::nothrow) dmem_device_t{};
  if (device == nullptr || !dmem_memlog_init(&device->log, events)) {
    NLOG_ERROR(NLOG_TDRV, "nd{}: out of host memory for counters", device_id);
    delete device;
    return NRT_RESOURCE;
  }
  device->device_id = device_id;
  report.directory = env_string("NEURON_RT_OOM_DUMP_DIRECTORY", "/tmp");
  device->report = std::move(report);
  *out = device;
  return NRT_SUCCESS;
}

void dmem_device_destroy(dmem_device_t *device) {
  if (device == nullptr)
    return;
  dmem_memlog_fini(&device->log);
  delete device;
}

void dmem_device_set_lnc(dmem_device_t *device, uint32_t lnc) {
  device->lnc.store(lnc, std::memory_order_relaxed);
}

void dmem_device_snapshot(dmem_device_t *device, dmem_usage_table_t *out) {
  std::lock_guard<std::mutex> lock(device->mutex);
  *out = device->table;
}

void dmem_device_record(dmem_device_t *device, const dmem_t *mem, dmem_event_action_t action) {
  uint32_t hbm = mem->tdram_channel;
  uint32_t core = mem->pcore->nc_id;
  auto usage = static_cast<uint32_t>(mem->mem_usage_type);
  dmem_event_t event = {};
  event.action = action;
  event.location = mem->mem_type;
  event.usage = mem->mem_usage_type;
  event.hbm_index = hbm;
  event.nc_id = core;
  if (mem->hint != nullptr)
    snprintf(event.hint, sizeof(event.hint), "%s", mem->hint);
  event.size = mem->allocated_size;
  event.pa = mem->_pa;
  event.align_offset = mem->align_offset;

  std::lock_guard<std::mutex> lock(device->mutex);
  dmem_usage_table_t &table = device->table;
  if (mem->mem_type == dma_mem_location_t::TONGA_DRAM) {
    // Unsigned wrap-around makes one path of add and subtract.
    uint64_t delta = action == dmem_event_action_t::ALLOC ? mem->allocated_size
                                                          : uint64_t{0} - mem->allocated_size;
    table.hbm_total[hbm] += delta;
    table.by_usage[core][usage] += delta;
    table.core_total[core] += delta;
    mem->allocator->by_usage[usage] += delta;
  }
  event.hbm_total = table.hbm_total[hbm];
  dmem_memlog_append(&device->log, &event);
}

const char *dmem_usage_name(dma_mem_usage_type_t usage) {
  auto index = static_cast<uint32_t>(usage);
  return index < DMEM_USAGE_COUNT ? kUsages[index].name : "unknown";
}

std::string dmem_purpose(dma_mem_usage_type_t usage, const char *hint) {
  if (hint == nullptr)
    return dmem_usage_name(usage);
  return fmt::format("{} '{}'", dmem_usage_name(usage), nlog_one_line(hint));
}

const char *dmem_usage_key(dma_mem_usage_type_t usage) {
  auto index = static_cast<uint32_t>(usage);
  return index < DMEM_USAGE_COUNT ? kUsages[index].key : "unknown";
}

dmem_column_t dmem_usage_column(dma_mem_usage_type_t usage) {
  auto index = static_cast<uint32_t>(usage);
  return index < DMEM_USAGE_COUNT ? kUsages[index].column : dmem_column_t::RUNTIME;
}

bool dmem_usage_category(dma_mem_usage_type_t usage, dma_mem_location_t location,
                         uint32_t *category) {
  auto index = static_cast<uint32_t>(usage);
  if (index >= DMEM_USAGE_COUNT)
    return false;
  uint32_t found = kNone;
  if (location == dma_mem_location_t::HOST_DRAM)
    found = kUsages[index].host;
  else if (location == dma_mem_location_t::TONGA_DRAM)
    found = kUsages[index].device;
  if (found == kNone)
    return false;
  *category = found;
  return true;
}

std::string dmem_size_text(uint64_t bytes) {
  static const char *const units[] = {"B", "KB", "MB", "GB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.3f}{}", value, units[unit]);
}
