// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/host.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <new>

#include "base/checked.h"
#include "mock_dev/chunk.h"
#include "mock_dev/core_pool.h"
#include "mock_dev/datastore.h"
#include "mock_dev/fault.h"
#include "mock_dev/firmware.h"
#include "mock_dev/memfd.h"
#include "mock_dev/reset.h"
#include "mock_dev/sysfs_tree.h"
#include "mock_dev/udma.h"

namespace {

constexpr char DEFAULT_INSTANCE[] = "trn2.3xlarge";
constexpr uint32_t POISON = 0xa5a5a5a5;
constexpr char DEFAULT_VERSION[] = "2.24.7.0";

// Chunk records: one per handle, one for whoever asks when those have run out, and the driver's
// own: reserved memory and scrub buffers per channel, fill buffer, ring of closed queues, the rest
// as named. Any of its own may be without a handle.
constexpr uint32_t DRIVER_CHUNKS = 2 * NEURON_MAX_HBM + NEURON_DATASTORE_COUNT + 2 +
                                   NEURON_MAX_CORES * MOCK_COPY_RING_CHUNKS +
                                   MOCK_NQ_UNITS * NEURON_NQ_SLOTS;
constexpr uint32_t CHUNK_CAPACITY = MOCK_HANDLE_LIMIT + 1 + DRIVER_CHUNKS;
// Each chunk can leave one hole below it; each pool has one tail.
constexpr uint32_t EXTENT_CAPACITY = CHUNK_CAPACITY + 2 * NEURON_MAX_HBM + 1;
constexpr uint32_t HOST_PAGES = MOCK_HOST_SIZE >> MOCK_PAGE_SHIFT;
constexpr uint32_t HOST_EXTENT_CAPACITY = HOST_PAGES / 2 + 2;

struct region_layout_t {
  uint64_t size;
  // Reserves a page-aligned piece.
  uint64_t add(uint64_t bytes) {
    uint64_t at = size;
    size += (bytes + MOCK_PAGE - 1) & ~(MOCK_PAGE - 1);
    return at;
  }
};

struct device_layout_t {
  uint64_t device, chunks, extents, handles, host_map, udma, chunk_map[NEURON_MAX_HBM];
};

device_layout_t device_reserve(region_layout_t *region, uint32_t hbms, uint32_t hbm_pages,
                               uint32_t engines) {
  device_layout_t l = {};
  l.device = region->add(sizeof(mock_device_t));
  l.chunks = region->add(sizeof(mock_chunk_t) * static_cast<uint64_t>(CHUNK_CAPACITY + 1));
  l.extents = region->add(sizeof(mock_extent_t) * static_cast<uint64_t>(EXTENT_CAPACITY));
  l.handles = region->add(MOCK_HANDLE_BYTES);
  l.host_map = region->add(mock_page_map_bytes(HOST_PAGES));
  l.udma = region->add(NEURON_UDMA_BLOCK_SIZE * engines);
  for (uint32_t h = 0; h < hbms; ++h)
    l.chunk_map[h] = region->add(mock_page_map_bytes(hbm_pages));
  return l;
}

int memory_create(mock_memory_t *memory, const char *name, uint64_t size) {
  memory->fd = mock_memfd(name, size);
  memory->size = size;
  if (memory->fd < 0)
    return -ENOMEM;
  return 0;
}

void memory_destroy(mock_memory_t *memory) {
  if (memory->bytes != nullptr)
    munmap(memory->bytes, memory->size);
  if (memory->fd >= 0)
    close(memory->fd);
}

uint64_t device_memory_size(const mock_state_t *state) {
  return mock_memory_top_sp_offset(state, neuron_arch_counts_get(state->arch).top_sps);
}

int device_probe(mock_host *host, uint32_t index, const device_layout_t *layout, bool poison) {
  mock_state_t *state = host->state;
  mock_device_t *device = mock_host_device(host, index);
  if (mock_lock_init(&device->lock) != 0 || mock_lock_init(&device->dma_lock) != 0)
    return -ENOMEM;
  device->index = index;
  device->state = NEURON_DEVICE_READY;
  device->chunks.offset = layout->chunks;
  device->chunks.capacity = CHUNK_CAPACITY;
  device->extents_offset = layout->extents;
  mock_extent_arena_init(&device->extents, EXTENT_CAPACITY);
  mock_handle_table_init(&device->handles, layout->handles);
  mock_page_map_init(&device->host_map, layout->host_map, HOST_PAGES);
  uint32_t hbm_pages = static_cast<uint32_t>(state->hbm_size >> MOCK_PAGE_SHIFT);
  uint32_t small_pages = NEURON_HBM_SMALL_POOL >> MOCK_PAGE_SHIFT;
  mock_extent_space_t space = mock_device_extents(host, device);
  for (uint32_t h = 0; h < state->hbms; ++h) {
    mock_page_map_init(&device->chunk_map[h], layout->chunk_map[h], hbm_pages);
    if (!mock_pool_init(space, &device->main_pool[h], 0, hbm_pages - small_pages) ||
        !mock_pool_init(space, &device->small_pool[h], hbm_pages - small_pages, small_pages))
      return -ENOMEM;
    device->scratch_bottom[h] = hbm_pages - small_pages;
    device->fresh_pattern[h] = poison ? POISON : 0;
    // The firmware's share comes first, so it lies at the channel's start.
    mock_chunk_request_t reserved = {};
    reserved.size = NEURON_HBM_RESERVED;
    reserved.channel = h;
    reserved.nc_id = h;
    reserved.category = NEURON_MEM_NCDEV_DEVICE;
    reserved.lifetime = MOCK_LIFETIME_DEVICE;
    reserved.slot = MOCK_NO_SLOT;
    uint32_t chunk;
    int rc = mock_chunk_create(host, device, &reserved, &chunk);
    if (rc != 0)
      return rc;
  }
  for (uint32_t core = 0; core < NEURON_MAX_CORES; ++core)
    device->core_init[core] = NEURON_CINIT_INVALID;
  mock_firmware_probe(host, device);
  int rc = mock_datastore_probe(host, device);
  if (rc == 0)
    rc = mock_reset_probe(host, device);
  if (rc != 0)
    return rc;
  device->udma_registers = layout->udma;
  return mock_udma_probe(host, device);
}

int options_check(const mock_dev_options_t *options, const mock_instance_t **instance) {
  *instance =
      mock_instance_find(options->instance != nullptr ? options->instance : DEFAULT_INSTANCE);
  if (*instance == nullptr)
    return -EINVAL;
  uint64_t real = neuron_hbm_size((*instance)->arch);
  uint64_t size = options->hbm_size;
  if (size != 0 && (size % MOCK_PAGE != 0 || size < 2 * NEURON_HBM_SMALL_POOL || size > real))
    return -EINVAL;
  if (options->api_min > options->api_max || options->reset_ms > MOCK_MAX_RESET_MS)
    return -EINVAL;
  if (options->driver_version != nullptr &&
      strlen(options->driver_version) >= sizeof(mock_state_t::driver_version))
    return -EINVAL;
  return mock_faults_check(options->faults, options->fault_count);
}

int host_build(mock_host *host, const mock_dev_options_t *options) {
  const mock_instance_t *instance = host->instance;
  uint64_t hbm_size = options->hbm_size != 0 ? options->hbm_size : neuron_hbm_size(instance->arch);
  neuron_arch_counts counts = neuron_arch_counts_get(instance->arch);
  uint32_t hbms = counts.hbms;

  region_layout_t region = {};
  region.add(sizeof(mock_state_t));
  uint64_t host_extents =
      region.add(sizeof(mock_extent_t) * static_cast<uint64_t>(HOST_EXTENT_CAPACITY));
  device_layout_t layouts[NEURON_MAX_DEVICES];
  for (uint32_t d = 0; d < instance->devices; ++d)
    layouts[d] = device_reserve(&region, hbms, static_cast<uint32_t>(hbm_size >> MOCK_PAGE_SHIFT),
                                counts.dma_engines);

  host->state_fd = mock_memfd("neuron-mock-state", region.size);
  if (host->state_fd < 0)
    return -ENOMEM;
  void *va = mmap(nullptr, region.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                  host->state_fd, 0);
  if (va == MAP_FAILED)
    return -ENOMEM;
  host->region = static_cast<uint8_t *>(va);
  mock_state_t *state = host->state = static_cast<mock_state_t *>(va);
  state->region_size = region.size;
  if (mock_lock_init(&state->lock) != 0)
    return -ENOMEM;
  state->instance = mock_instance_index(instance);
  state->arch = instance->arch;
  state->device_count = instance->devices;
  state->cores = counts.cores;
  state->hbms = hbms;
  state->hbm_size = hbm_size;
  state->no_reset = options->no_reset ? 1 : 0;
  state->reset_ms = options->reset_ms;
  bool own_range = options->api_min == 0 && options->api_max == 0;
  state->api_min = own_range ? counts.api_level_min : options->api_min;
  state->api_max = own_range ? counts.api_level_max : options->api_max;
  state->hidden = options->hidden_features;
  state->features = NEURON_FEATURES_2_24_7 & ~options->hidden_features;
  const char *version =
      options->driver_version != nullptr ? options->driver_version : DEFAULT_VERSION;
  memcpy(state->driver_version, version, strlen(version) + 1);
  state->created = static_cast<uint64_t>(time(nullptr));
  state->notify_delay = -1;
  state->host_extents_offset = host_extents;
  mock_extent_arena_init(&state->host_extents, HOST_EXTENT_CAPACITY);
  uint32_t host_first = MOCK_HOST_FIRST >> MOCK_PAGE_SHIFT;
  if (!mock_pool_init(mock_host_extents(host), &state->host_pool, host_first,
                      HOST_PAGES - host_first))
    return -ENOMEM;
  int rc = memory_create(&host->host_memory, "neuron-mock-host", MOCK_HOST_SIZE);
  for (uint32_t d = 0; d < instance->devices && rc == 0; ++d) {
    state->device_offset[d] = layouts[d].device;
    rc = memory_create(&host->device_memory[d], "neuron-mock-device", device_memory_size(state));
    if (rc == 0)
      rc = device_probe(host, d, &layouts[d], options->poison);
  }
  if (rc == 0)
    rc = mock_set_faults(host, options->faults, options->fault_count);
  if (rc == 0)
    rc = mock_exec_create(host, options);
  return rc != 0 || options->sysfs_dir == nullptr
             ? rc
             : mock_sysfs_tree_create(host, options->sysfs_dir);
}

}  // namespace

int mock_lock_init(pthread_mutex_t *lock) {
  pthread_mutexattr_t attr;
  if (pthread_mutexattr_init(&attr) != 0)
    return -ENOMEM;
  pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
  int rc = pthread_mutex_init(lock, &attr);
  pthread_mutexattr_destroy(&attr);
  return rc == 0 ? 0 : -ENOMEM;
}

mock_guard_t::mock_guard_t(pthread_mutex_t *lock) : held(lock) {
  if (pthread_mutex_lock(lock) == EOWNERDEAD)
    pthread_mutex_consistent(lock);
}

mock_guard_t::~mock_guard_t() {
  pthread_mutex_unlock(held);
}

uint64_t mock_memory_hbm_offset(const mock_state_t *state, uint32_t channel) {
  return channel * state->hbm_size;
}

uint64_t mock_memory_core_offset(const mock_state_t *state, uint32_t core) {
  return state->hbms * state->hbm_size + core * NEURON_BAR0_TPB_STRIDE;
}

uint64_t mock_memory_top_sp_offset(const mock_state_t *state, uint32_t top_sp) {
  return mock_memory_core_offset(state, state->cores) + top_sp * NEURON_TOP_SP_SIZE;
}

uint64_t mock_memory_address(const mock_state_t *state, uint64_t offset) {
  uint64_t cores = mock_memory_core_offset(state, 0), top_sps = mock_memory_top_sp_offset(state, 0);
  uint64_t at;
  if (offset < cores) {
    auto channel = static_cast<uint32_t>(offset / state->hbm_size);
    return neuron_hbm_base(state->arch, channel) + offset % state->hbm_size;
  }
  if (offset >= top_sps) {
    at = offset - top_sps;
    auto top_sp = static_cast<uint32_t>(at / NEURON_TOP_SP_SIZE);
    return neuron_top_sp_base(state->arch, top_sp) + at % NEURON_TOP_SP_SIZE;
  }
  at = offset - cores;
  auto core = static_cast<uint32_t>(at / NEURON_BAR0_TPB_STRIDE);
  at %= NEURON_BAR0_TPB_STRIDE;
  // SBUF at the start; PSUM and events where the chip has them.
  if (at >= NEURON_SBUF_APERTURE)
    at += neuron_psum_offset(state->arch) - NEURON_SBUF_APERTURE;
  return neuron_tpb_base(state->arch, core) + at;
}

uint8_t *mock_memory_bytes(mock_host *host, mock_memory_t *memory) {
  uint8_t *bytes = __atomic_load_n(&memory->bytes, __ATOMIC_ACQUIRE);
  if (bytes != nullptr)
    return bytes;
  mock_guard_t guard(&host->view_lock);
  if (memory->bytes != nullptr)
    return memory->bytes;
  void *va = mmap(nullptr, memory->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                  memory->fd, 0);
  if (va == MAP_FAILED)
    return nullptr;
  madvise(va, memory->size, MADV_DONTDUMP);
  __atomic_store_n(&memory->bytes, static_cast<uint8_t *>(va), __ATOMIC_RELEASE);
  return static_cast<uint8_t *>(va);
}

bool mock_host_resolve(mock_host *host, uint32_t device, uint64_t pa, uint64_t size,
                       mock_place_t *out) {
  const mock_state_t *state = host->state;
  uint64_t bus = pa - neuron_host_window_bit(state->arch);
  if (range_within(bus, size, MOCK_HOST_SIZE)) {
    *out = {&host->host_memory, bus};
    return true;
  }
  out->memory = &host->device_memory[device];
  uint32_t h = neuron_hbm_near(state->arch, pa);
  uint64_t at = pa - neuron_hbm_base(state->arch, h);
  if (range_within(at, size, state->hbm_size)) {
    out->offset = mock_memory_hbm_offset(state, h) + at;
    return true;
  }
  // The file keeps 64 MiB of a core's window. What lies elsewhere in the larger v3 window moves
  // there: SBUF stays, PSUM and events come from their own offsets.
  uint64_t psum = neuron_psum_offset(state->arch);
  uint64_t psum_size = NEURON_BAR0_TPB_STRIDE - NEURON_SBUF_APERTURE;
  uint32_t core = neuron_tpb_near(state->arch, pa);
  at = pa - neuron_tpb_base(state->arch, core);
  uint64_t start = mock_memory_core_offset(state, core);
  if (range_within(at, size, NEURON_SBUF_APERTURE)) {
    out->offset = start + at;
    return true;
  }
  if (range_within(at - psum, size, psum_size)) {
    out->offset = start + NEURON_SBUF_APERTURE + (at - psum);
    return true;
  }
  for (uint32_t t = 0; t < neuron_arch_counts_get(state->arch).top_sps; ++t) {
    at = pa - neuron_top_sp_base(state->arch, t);
    if (range_within(at, size, NEURON_TOP_SP_SIZE)) {
      out->offset = mock_memory_top_sp_offset(state, t) + at;
      return true;
    }
  }
  return false;
}

int mock_host_create(const mock_dev_options_t *options, mock_host_t **out) {
  static const mock_dev_options_t defaults = {};
  if (options == nullptr)
    options = &defaults;
  *out = nullptr;
  const mock_instance_t *instance;
  int rc = options_check(options, &instance);
  if (rc != 0)
    return rc;
  auto *host = new (std::nothrow) mock_host;
  if (host == nullptr)
    return -ENOMEM;
  host->instance = instance;
  if (pthread_mutex_init(&host->view_lock, nullptr) != 0) {
    delete host;
    return -ENOMEM;
  }
  rc = host_build(host, options);
  if (rc != 0) {
    mock_host_destroy(host);
    return rc;
  }
  *out = host;
  return 0;
}

void mock_host_destroy(mock_host_t *host) {
  if (host == nullptr)
    return;
  mock_exec_destroy(host);
  mock_sysfs_tree_destroy(host);
  for (const auto &[va, mapping] : host->mappings)
    munmap(reinterpret_cast<void *>(va), mapping.length);
  for (mock_memory_t &memory : host->device_memory)
    memory_destroy(&memory);
  memory_destroy(&host->host_memory);
  if (host->region != nullptr)
    munmap(host->region, host->state->region_size);
  if (host->state_fd >= 0)
    close(host->state_fd);
  pthread_mutex_destroy(&host->view_lock);
  delete host;
}

void *mock_dram(mock_host_t *host, uint32_t device, uint64_t pa, uint64_t size) {
  mock_state_t *state = host->state;
  if (device >= state->device_count)
    return nullptr;
  for (uint32_t h = 0; h < state->hbms; ++h) {
    uint64_t at = pa - neuron_hbm_base(state->arch, h);
    if (!range_within(at, size, state->hbm_size))
      continue;
    uint8_t *bytes = mock_memory_bytes(host, &host->device_memory[device]);
    if (bytes == nullptr)
      return nullptr;
    mock_device_t *d = mock_host_device(host, device);
    mock_guard_t guard(&d->lock);
    d->exposed = 1;
    return bytes + mock_memory_hbm_offset(state, h) + at;
  }
  return nullptr;
}
