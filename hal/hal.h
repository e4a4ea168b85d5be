// SPDX-License-Identifier: Apache-2.0
// The hardware abstraction layer: everything above reaches a device through these functions.
//
// One operations table (hal_ops_t) is the seam to the operating system; two back ends fill it:
// `kernel` (open/ioctl/mmap/... through a small syscall table, rulings.md 18) and `mock`
// (mock_dev). The functions below marshal each request once, on top of that table, so both back
// ends run the same path. Functions that mirror a driver request return 0 or -errno and never log;
// the caller knows the context. Set-up functions return NRT_STATUS and write the one ERROR line
// themselves.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "hal/arch.h"
#include "nrt/nrt_status.h"

constexpr uint32_t HAL_MAX_DEVICES = 64;

// --- the seam ----------------------------------------------------------------------------------

enum hal_lane_t {
  HAL_LANE_DEVICE = 0,  // O_RDWR: attached to the device, all requests
  HAL_LANE_MISC = 1,    // O_WRONLY: version, claims, topology; never attached
};

struct hal_ops_t {
  const char *name;  // "kernel" or "mock"
  // All return 0 (or a descriptor / byte count) or -errno. `be` is the back end's own state.
  int (*open)(void *be, uint32_t device_index, hal_lane_t lane);
  int (*close)(void *be, int fd);
  // 0, -errno, or the positive numbers the driver returns for some failures (uapi.md 3).
  long (*ioctl)(void *be, int fd, uint32_t request, void *arg);
  int (*map)(void *be, int fd, uint64_t offset, size_t length, int prot, void **va);
  int (*unmap)(void *be, void *va, size_t length);
  // Reads a whole small file (sysfs); returns bytes read.
  ssize_t (*read_file)(void *be, const char *path, char *buffer, size_t size);
  // True when the device node exists.
  bool (*device_present)(void *be, uint32_t device_index);
  void (*destroy)(void *be);
};

// --- selection and discovery --------------------------------------------------------------------

enum hal_mock_mode_t { HAL_MOCK_NEVER, HAL_MOCK_AUTO, HAL_MOCK_ALWAYS };

struct hal_options_t {
  hal_mock_mode_t mock = HAL_MOCK_AUTO;
  const char *mock_instance = nullptr;  // overrides NEURON_MOCK_INSTANCE; nullptr = environment
};

// Reads NEURON_RT_MOCK and NEURON_MOCK_INSTANCE.
NRT_STATUS hal_options_from_env(hal_options_t *out);

struct hal_t;         // one opened machine
struct hal_device_t;  // one opened device

struct hal_identity_t {
  const char *backend;        // "kernel" or "mock"
  char instance_type[64];     // DMI product name, e.g. "trn2.3xlarge"
  char driver_version[64];    // e.g. "2.24.7.0"
  uint32_t api_min, api_max;  // driver's runtime API range
  uint64_t features;          // HAL_FEATURE_* bits
  uint32_t revision;
  uint32_t device_count;
  uint32_t device_index[HAL_MAX_DEVICES];  // node numbers, ascending
};

// Driver feature bits (uapi.md 5.2).
constexpr uint64_t HAL_FEATURE_DMABUF = 0x1;
constexpr uint64_t HAL_FEATURE_ASYNC_DMA = 0x2;
constexpr uint64_t HAL_FEATURE_BATCH_DMAQ_INIT = 0x4;
constexpr uint64_t HAL_FEATURE_BIG_CORE_MAPS = 0x8;
constexpr uint64_t HAL_FEATURE_MEM_ALLOC_TYPE = 0x10;
constexpr uint64_t HAL_FEATURE_HBM_SCRUB = 0x20;
constexpr uint64_t HAL_FEATURE_MEM_ALLOC64 = 0x40;
constexpr uint64_t HAL_FEATURE_CONTIGUOUS_SCRATCHPAD = 0x80;

// Chooses the back end, finds the devices, checks the version range. Statuses: NRT_INVALID (no
// device, unsupported architecture, driver range that excludes ours: both ranges are named),
// NRT_FAILURE. In `auto` mode the fall back to the mock is announced by one line on stderr
// (rulings.md 19).
NRT_STATUS hal_open(const hal_options_t *options, hal_t **out);
void hal_close(hal_t *hal);

// Opens over a given table instead: tests route the kernel back end to the mock's dispatcher. Takes
// ownership of `be`.
NRT_STATUS hal_open_with(const hal_ops_t *ops, void *be, hal_t **out);

const hal_identity_t *hal_identity(const hal_t *hal);
const hal_arch_t *hal_arch(const hal_t *hal);

// nullptr with the kernel back end; else the mock_host_t behind this machine (tests and tools).
struct mock_host;
mock_host *hal_mock_host(const hal_t *hal);

// --- machine-wide requests (misc lane) ----------------------------------------------------------

// Claims `count` consecutive physical cores of the machine, searching [first, last]. `claimed`
// receives the first one. -EBUSY: *available = longest free run. Cores are global numbers: device
// position * cores per device + core. Held until hal_cores_release or process end.
int hal_cores_claim(hal_t *hal, uint32_t count, uint32_t first, uint32_t last, uint32_t *claimed,
                    uint32_t *available);
int hal_cores_release(hal_t *hal, uint32_t first, uint32_t count);

// Routing id of every device of the host, indexed by the host's device number.
int hal_routing_ids(hal_t *hal, uint32_t *count, uint32_t ids[HAL_MAX_DEVICES]);

// --- devices ------------------------------------------------------------------------------------

// `index` is a position in hal_identity_t.device_index. Reference counted: opening twice gives the
// same object.
NRT_STATUS hal_device_open(hal_t *hal, uint32_t index, hal_device_t **out);
void hal_device_close(hal_device_t *device);
uint32_t hal_device_index(const hal_device_t *device);  // node number
hal_t *hal_device_hal(const hal_device_t *device);

enum hal_location_t { HAL_LOCATION_HOST = 1, HAL_LOCATION_DEVICE = 2 };

struct hal_mem_request_t {
  uint64_t size;
  uint64_t alignment;  // 0 = none; must be 0 for host memory
  hal_location_t location;
  uint32_t hbm_index;
  uint32_t nc_id;     // core on the device
  uint32_t category;  // NEURON_MEM_* (uapi.md 5.6)
};

// Picks the newest request form the driver has (uapi.md 7). -EOPNOTSUPP: alignment or category 19
// asked of a driver that has no form for it.
int hal_mem_alloc(hal_device_t *device, const hal_mem_request_t *request, uint64_t *handle);
int hal_mem_free(hal_device_t *device, uint64_t handle);
int hal_mem_get_pa(hal_device_t *device, uint64_t handle, uint64_t *pa);
int hal_mem_get_info(hal_device_t *device, uint64_t handle, uint64_t *mmap_offset, uint64_t *pa);
int hal_mem_map(hal_device_t *device, uint64_t mmap_offset, size_t length, int prot, void **va);
int hal_mem_unmap(hal_device_t *device, void *va, size_t length);
// Host buffer <-> chunk. Split so that no single request reaches 4 GiB (driver limit).
int hal_mem_buf_copy(hal_device_t *device, uint64_t handle, void *buffer, uint64_t offset,
                     uint64_t size, bool to_device);
// The same for a buffer whose pages the driver pins instead of copying through one of its own.
// -EINVAL: 0 bytes, or a driver without the request.
int hal_mem_buf_zerocopy(hal_device_t *device, uint64_t handle, void *buffer, uint64_t offset,
                         uint64_t size, bool to_device);
// Chunk <-> chunk.
int hal_mem_copy(hal_device_t *device, uint64_t src, uint64_t src_offset, uint64_t dst,
                 uint64_t dst_offset, uint64_t size);
// Starts a copy and, when `wait_for` names one, waits for that earlier copy. Wait handles: -1 none,
// 0 synchronous, 1 and 2 the two slots.
int hal_mem_copy_async(hal_device_t *device, uint64_t src, uint64_t src_offset, uint64_t dst,
                       uint64_t dst_offset, uint64_t size, int wait_for, int *wait_handle);
int hal_mem_copy_wait(hal_device_t *device, uint64_t src, uint64_t dst, int wait_handle);
int hal_memset(hal_device_t *device, uint64_t handle, uint64_t offset, uint8_t value,
               uint64_t size);

struct hal_chunk_t {
  uint64_t pa;
  uint64_t size;
  uint32_t category;
};
// The driver's own list of chunks on one HBM, ascending. *count: in capacity, out number of chunks;
// -EAGAIN when there are more than fit (*count is set, no data).
int hal_dump_chunks(hal_device_t *device, uint32_t hbm_index, hal_chunk_t *chunks, uint32_t *count);

// Bytes of an HBM channel: the driver's word where it has one (v3), else the architecture's size.
int hal_hbm_size(hal_device_t *device, uint32_t hbm_index, uint64_t *size);

// Core init state machine (CINIT_SET_STATE): wanted state in, state after the call out.
int hal_core_init_state(hal_device_t *device, uint32_t nc_id, uint32_t state, uint32_t *new_state);

// "ENOMEM" for ENOMEM or -ENOMEM. Static storage.
const char *hal_error_name(int error);

// The host's number of this device; differs from the node number inside containers.
int hal_host_device_id(hal_device_t *device, uint32_t *id);

// Raw access, for requests that have no wrapper yet. Interrupted calls are repeated; positive
// results come through.
long hal_device_ioctl(hal_device_t *device, uint32_t request, void *arg);
