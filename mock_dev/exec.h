// SPDX-License-Identifier: Apache-2.0
// Execution, as the outside of the mocked device sees it: switches, waiting for a core, reports.
// Plain C, beside mock_dev.h; device and core are positions on the machine and on the device.
#ifndef MOCK_DEV_EXEC_H
#define MOCK_DEV_EXEC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mock_host mock_host_t;

typedef struct mock_exec_options {
  uint64_t seed;   /* 0: deterministic, transfers are instant; else engines and queues interleave
                      at random, transfers complete late, destinations hold NaN meanwhile */
  uint32_t strict; /* reads of memory nobody wrote, accesses outside a named variable */
  uint32_t races;  /* byte-level happens-before check */
  uint32_t exact_functions; /* activation functions in double precision */
} mock_exec_options_t;

/* From the next run on. Initially from NEURON_MOCK_SEED, NEURON_MOCK_STRICT, NEURON_MOCK_RACES,
 * NEURON_MOCK_EXACT_FUNCTIONS. */
void mock_exec_configure(mock_host_t *host, const mock_exec_options_t *options);
void mock_exec_options_get(mock_host_t *host, mock_exec_options_t *out);
/* Whether they ask for strict mode or races: for every run, takes no lock. */
int mock_exec_checks(const mock_host_t *host);

enum {
  MOCK_CORE_IDLE,    /* no run is under way */
  MOCK_CORE_BUSY,    /* something can still move; the time is over */
  MOCK_CORE_STALLED, /* a run is under way and nothing on the machine can move */
};
/* Runs the core on the calling thread, or waits while another thread does, until it is idle or
 * stalled or `timeout_ns` have passed. Cores with work are run by threads of the mock too, so
 * nobody has to call this. -EINVAL: no such core. Allocates nothing. */
int mock_core_wait(mock_host_t *host, uint32_t device, uint32_t core, uint64_t timeout_ns);

/* Why a stalled core cannot go on: one line per engine (slot, record, what it waits for, value
 * seen). Returns the length; at most `size` bytes with the NUL are written. */
size_t mock_core_report(mock_host_t *host, uint32_t device, uint32_t core, char *text, size_t size);

/* What the runtime calls things, for reports and strict mode only: nothing that executes reads it.
 * Replaces the names of the core; NULL, 0 removes them. Ranges may overlap. */
typedef struct mock_name {
  uint64_t address, size; /* device addresses */
  const char *name;
  uint32_t first_slot; /* records: slot in the engine's stream of the one at `address` */
  uint32_t flags;      /* MOCK_NAME_* */
} mock_name_t;
#define MOCK_NAME_RECORDS 1u   /* instructions: reports give slots */
#define MOCK_NAME_UNDEFINED 2u /* holds nothing of use when a run begins: scratch, outputs */
int mock_exec_names(mock_host_t *host, uint32_t device, uint32_t core, const mock_name_t *names,
                    size_t count);

/* One executed record (or transfer), for traces. Called by the thread that runs the core. */
typedef struct mock_exec_event {
  uint32_t device, core;
  uint32_t engine; /* isa_engine_t; 16 + k: a packet of the core's DMA engine k, without pc and
                      record; 32 + e: the transfer of a DMA record of engine e */
  uint64_t pc;     /* device address of the record */
  const uint8_t *record;     /* 64 bytes */
  uint64_t start_ps, end_ps; /* simulated time */
  uint64_t bytes;            /* moved, transfers only */
} mock_exec_event_t;
typedef void (*mock_exec_event_fn)(void *user, const mock_exec_event_t *event);
void mock_exec_trace(mock_host_t *host, mock_exec_event_fn fn, void *user);

/* Records executed since the machine was made. */
typedef struct mock_exec_count_set {
  uint64_t records[5]; /* by engine */
  uint64_t opcodes[5][256];
  uint64_t transfers, transfer_bytes; /* by DMA */
  uint64_t macs;
  uint64_t time_ps; /* simulated time, of the engine that is furthest */
} mock_exec_counts_t;
void mock_exec_counts(mock_host_t *host, uint32_t device, uint32_t core, mock_exec_counts_t *out);

/* Findings of races and strict mode, in order, each once: text without a newline. Returns its
 * length, -EAGAIN: none left. Kept up to a limit; *dropped (may be NULL) counts the rest. Setting
 * the options anew begins anew. The first form gives each finding once, the second the one at
 * `index`, for those who count themselves. */
int mock_exec_finding(mock_host_t *host, char *text, size_t size, uint64_t *dropped);
int mock_exec_finding_at(mock_host_t *host, uint64_t index, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
