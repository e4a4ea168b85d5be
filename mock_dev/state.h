// SPDX-License-Identifier: Apache-2.0
// Layout of one mocked machine in shared memory. Everything here is numbers: positions are offsets
// from the start of the region or indexes, never pointers (rulings.md 17).
//
// The region is one sparse memory file, sized once for the largest state it can reach; pages that
// are never touched cost nothing. Locks are process-shared and robust. Order: a device's DMA lock,
// a device's lock, the host's.
#pragma once

#include <pthread.h>

#include <cstdint>

#include "isa/project.h"
#include "mock_dev/counters.h"
#include "mock_dev/extent_pool.h"
#include "mock_dev/handle_table.h"
#include "mock_dev/instance.h"
#include "mock_dev/page_map.h"
#include "mock_dev/sysfs.h"
#include "uapi/neuron_address_map.h"
#include "uapi/neuron_ioctl.h"
#include "uapi/neuron_udma.h"

constexpr uint32_t MOCK_MAX_CLAIMS = 512;
constexpr uint32_t MOCK_MAX_FAULTS = 64;
constexpr uint32_t MOCK_MAX_FDS = 4096;
constexpr uint32_t MOCK_MAX_REQUESTS = 128;  // rows of the dispatch table, at most
constexpr uint32_t MOCK_NO_SLOT = UINT32_MAX;
constexpr uint32_t MOCK_LOG_LINES = 256;
constexpr uint32_t MOCK_LOG_LINE = 640;  // bytes with the NUL
constexpr uint32_t MOCK_MAX_RESET_MS = 600000;
constexpr uint32_t MOCK_MAX_RESETS = 64;       // requests per device, running or unread
constexpr uint32_t MOCK_COPY_RING_CHUNKS = 3;  // per core
constexpr uint64_t MOCK_MISC_RAM_SIZE = 4096;  // of which the firmware uses the start
constexpr uint32_t MOCK_ASYNC_SLOTS = 3;  // by wait handle; 0 is the synchronous one, never busy

// Host memory handed to devices: bus addresses [1 MiB, 4 GiB). 0 and the low megabyte stay out of
// use as on a PC.
constexpr uint64_t MOCK_HOST_SIZE = 1ull << 32;
constexpr uint64_t MOCK_HOST_FIRST = 1ull << 20;

enum mock_pool_kind_t : uint8_t { MOCK_POOL_MAIN, MOCK_POOL_SMALL, MOCK_POOL_HOST };
enum mock_lifetime_t : uint8_t { MOCK_LIFETIME_PROCESS, MOCK_LIFETIME_DEVICE };

struct mock_chunk_t {
  uint64_t pa;  // host chunks: window bit included
  uint64_t size;
  int32_t tgid;         // allocator
  uint32_t slot;        // its process slot, MOCK_NO_SLOT for device lifetime
  uint32_t prev, next;  // list of the slot; `next` also chains free records
  uint32_t handle;      // 0 = none
  uint32_t channel;
  uint32_t nc_id;
  uint32_t category;  // as passed in, unchecked
  mock_pool_kind_t pool;
  mock_lifetime_t lifetime;
  uint32_t nq;  // notification queue: unit * NEURON_NQ_SLOTS + slot + 1; 0 = none
  bool dirty;   // may hold something else than zeros
};

struct mock_chunk_arena_t {
  uint64_t offset;
  uint32_t capacity, used, free_head;
};

struct mock_slot_t {
  int32_t tgid;
  uint32_t open_count;  // 0 = free
  uint32_t chunks;      // head of its list
  uint32_t pad;
  uint64_t host_bytes, device_bytes;
};

struct mock_core_lock_t {
  uint32_t writer;
  uint32_t readers;
  int32_t tgid;
  neuron_uuid uuid;
};

struct mock_datastore_t {
  uint32_t chunk;
  int32_t tgid;  // owner; meaningful while `owned`
  uint32_t owned;
  uint64_t cleared;  // when it was last given back; 0 = never used
};

// Where one hardware notification queue writes; size 0 = disabled.
struct mock_nq_registers_t {
  uint32_t address_low, address_high;
  uint32_t size;  // bytes
  uint32_t head;
  uint32_t tail;  // where the next record goes; both are byte offsets
  uint32_t lap;   // laps finished: records of even ones have the phase bit
};

// Units with notification queues: cores, then TOP_SPs.
constexpr uint32_t MOCK_NQ_UNITS = NEURON_MAX_CORES + NEURON_MAX_TOP_SP;

enum mock_udma_hold_t : uint8_t {
  MOCK_UDMA_FREE,
  MOCK_UDMA_HELD,           // doorbells only move tails
  MOCK_UDMA_HELD_POISONED,  // and fill what the packets will write with 0xFF bytes, NaN
};

// What the driver remembers about a queue beside its registers, and the scheduler.
struct mock_udma_queue_t {
  int32_t tgid;                       // who initialised it last, 0 = nobody
  uint32_t tx_size, rx_size;          // ring lengths, 0 = no such ring
  uint32_t faulted;                   // its packet put the engine into the abort state
  uint32_t poisoned_tx, poisoned_rx;  // descriptors from the head on
};

struct mock_reset_t {
  int32_t id;  // tgid that asked
  uint32_t used;
  uint32_t cores;  // bit map, may name cores that do not exist
  uint32_t sysfs;  // asked for through sysfs: nobody waits for it by id
  uint32_t done, failed;
  uint64_t done_at;  // CLOCK_MONOTONIC, ns
};

// The sequencer of one engine. While it runs, the thread that runs its core owns pc and registers.
struct mock_engine_t {
  uint64_t pc;  // device address of the next record
  uint32_t control;
  uint32_t status;  // project_engine_status_t
  uint32_t active;  // it has sent START and not yet END
  uint32_t runs;    // STARTs it has sent
  uint64_t tables;  // device address of the directory of activation tables
  uint32_t registers[PROJECT_REGISTERS];
};

struct mock_device_t {
  pthread_mutex_t dma_lock;  // the registers of the UDMA engines, and every transfer
  pthread_mutex_t lock;
  uint32_t index;
  uint32_t open_count;
  uint32_t state;  // NEURON_DEVICE_*
  // Someone holds a raw pointer to the memory, or wrote past a chunk: all memory counts as written
  // from then on, free memory too.
  uint32_t exposed;
  mock_slot_t slots[NEURON_MAX_PROCESSES];

  mock_pool_t main_pool[NEURON_MAX_HBM];
  mock_pool_t small_pool[NEURON_MAX_HBM];
  uint32_t scratch_bottom[NEURON_MAX_HBM];  // page: next contiguous scratchpad chunk ends here
  uint32_t chunk_count[NEURON_MAX_HBM];
  mock_page_map_t chunk_map[NEURON_MAX_HBM];
  mock_page_map_t host_map;
  mock_chunk_arena_t chunks;
  mock_extent_arena_t extents;
  uint64_t extents_offset;
  mock_handle_table_t handles;

  uint8_t async_busy[NEURON_MAX_CORES][MOCK_ASYNC_SLOTS];
  mock_core_lock_t core_locks[NEURON_MAX_CORES];
  uint32_t core_init[NEURON_MAX_CORES];
  mock_datastore_t datastores[NEURON_DATASTORE_COUNT];
  uint64_t datastore_clock;
  mock_counters_t counters;

  mock_reset_t resets[MOCK_MAX_RESETS];
  uint32_t copy_rings[NEURON_MAX_CORES][MOCK_COPY_RING_CHUNKS];  // chunks; 0 = not there
  uint32_t misc_ram[MOCK_MISC_RAM_SIZE / sizeof(uint32_t)];
  uint32_t scrub_buffers[NEURON_MAX_HBM];  // chunk; 0 = no scrub to wait for
  uint32_t fresh_pattern[NEURON_MAX_HBM];  // what newly allocated memory of the channel holds

  uint32_t nq_chunks[MOCK_NQ_UNITS][NEURON_NQ_SLOTS];  // 0 = empty slot
  mock_nq_registers_t nq_registers[MOCK_NQ_UNITS][NEURON_NQ_QUEUES_PER_TYPE];
  mock_nq_registers_t nq_dma_trace[NEURON_MAX_CORES][NEURON_DMA_ENGINES_PER_CORE];
  uint32_t nq_cause[MOCK_NQ_UNITS];  // interrupt cause bits

  mock_engine_t engines[NEURON_MAX_CORES][ISA_ENGINE_COUNT];
  uint32_t engine_resets[NEURON_MAX_CORES];  // what was under way before the last one is void

  mock_udma_queue_t udma_queues[NEURON_DMA_ENGINE_LIMIT][NEURON_DMA_QUEUES_PER_ENGINE];
  uint16_t udma_busy[NEURON_DMA_ENGINE_LIMIT];  // queues that may have descriptors to take
  mock_udma_hold_t udma_hold[NEURON_MAX_CORES];
  uint64_t udma_written[NEURON_DMA_ENGINE_LIMIT];  // pages of the register block that hold anything
  uint64_t udma_registers;                         // offset of the blocks, engine by engine
  uint64_t udma_dummy;                             // bus address of the ring of closed queues
};

enum mock_file_kind_t : uint8_t { MOCK_FILE_FREE, MOCK_FILE_DEVICE, MOCK_FILE_TEXT };

struct mock_file_t {
  mock_file_kind_t kind;
  uint8_t misc_lane;
  uint8_t access;  // O_ACCMODE bits
  uint32_t references;
  uint32_t device;
  uint32_t position;
  uint32_t length;
  mock_sysfs_ref_t sysfs;  // MOCK_FILE_TEXT
  char text[MOCK_SYSFS_TEXT];
};

struct mock_fd_t {
  uint32_t file;  // index + 1, 0 = closed
  int32_t tgid;   // whose descriptor it is
};

struct mock_fault_state_t {
  uint32_t request, nth;
  int32_t error;
  uint32_t sticky;
  uint64_t seen;
};

struct mock_state_t {
  pthread_mutex_t lock;
  uint32_t instance;  // index into the instance table
  uint32_t arch;
  uint32_t device_count;
  uint32_t cores, hbms;  // per device
  uint32_t no_reset, reset_ms;
  uint32_t api_min, api_max;
  uint64_t features, hidden;
  uint64_t hbm_size;
  uint64_t region_size;
  uint64_t device_offset[NEURON_MAX_DEVICES];
  char driver_version[64];
  uint64_t created;      // Unix time
  int32_t notify_delay;  // sysfs switch: -1 off, 0 on

  mock_pool_t host_pool;
  mock_extent_arena_t host_extents;
  uint64_t host_extents_offset;

  int32_t claims[MOCK_MAX_CLAIMS];  // owning tgid, 0 = free
  uint32_t claim_count;

  mock_fd_t fds[MOCK_MAX_FDS];
  mock_file_t files[MOCK_MAX_FDS];

  uint64_t log_written;  // lines ever
  char log[MOCK_LOG_LINES][MOCK_LOG_LINE];

  uint32_t fault_count;
  mock_fault_state_t faults[MOCK_MAX_FAULTS];
  uint64_t request_count[MOCK_MAX_REQUESTS];
  uint64_t request_total;
};

int mock_lock_init(pthread_mutex_t *lock);

// Locks for a scope. A lock whose owner died is taken over.
struct mock_guard_t {
  explicit mock_guard_t(pthread_mutex_t *lock);
  ~mock_guard_t();
  mock_guard_t(const mock_guard_t &) = delete;
  mock_guard_t &operator=(const mock_guard_t &) = delete;
  pthread_mutex_t *held;
};
