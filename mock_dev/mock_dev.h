/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mocked Neuron device: an in-process stand-in for /dev/neuron0..N with the driver's ioctl and
 * mmap rules (mock-device-semantics.md, uapi.md) over device DRAM kept in sparse memory files.
 *
 * One mock_host_t is one machine: its devices, their pools, handles and attached processes. Its
 * state is one offset-based region of shared memory without pointers (rulings.md 17). Every call
 * names the calling process (`tgid`), so a test can play several processes. All functions are
 * thread-safe.
 *
 * Results follow the kernel: 0 or a non-negative value on success, -errno on failure; an ioctl may
 * also return a small positive number where the real driver does (uapi.md 3).
 */
#ifndef MOCK_DEV_MOCK_DEV_H
#define MOCK_DEV_MOCK_DEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mock_host mock_host_t;

/* Things inside the device that can go wrong, in place of a request; the errno is not looked at. */
#define MOCK_FAULT_RESET 0xffffff01u   /* a reset fails: its READY says 1 */
#define MOCK_FAULT_MAILBOX 0xffffff02u /* the firmware does not answer: EPERM */
/* Execution. Where it says so the errno is a number with another meaning. */
#define MOCK_FAULT_NOTIFICATION 0xffffff03u /* the nth notification record is lost */
#define MOCK_FAULT_NQ_OVERFLOW 0xffffff04u  /* the nth record finds its queue full */
#define MOCK_FAULT_DMA_ABORT 0xffffff05u    /* the nth doorbell stops its DMA engine */
#define MOCK_FAULT_ERROR_RECORD \
  0xffffff06u /* with the nth END comes an error record; errno: its type (project_error_t) */
#define MOCK_FAULT_ENGINE 0xffffff07u /* the engine of the nth START stops with an error record */
#define MOCK_FAULT_SLOW 0xffffff08u   /* the engine of the nth START pauses; errno: milliseconds */

/* Makes one ioctl fail: the nth matching call (1 = the next one) answers with -error. */
typedef struct mock_fault {
  uint32_t request; /* full 32-bit request value, 0 = any, or MOCK_FAULT_* */
  uint32_t nth;     /* counted from 1 over matching calls */
  int error;        /* errno, positive */
  bool sticky;      /* true: every matching call from the nth on fails */
} mock_fault_t;

typedef struct mock_dev_options {
  const char *instance;       /* e.g. "trn2.3xlarge"; NULL = trn2.3xlarge */
  const char *driver_version; /* content of /sys/module/neuron/version; NULL = "2.24.7.0" */
  uint32_t api_min, api_max;  /* runtime API range; both 0 = the architecture's own */
  uint64_t hidden_features; /* driver feature bits to clear, and their requests refused (EINVAL) */
  uint64_t hbm_size;        /* bytes per HBM channel, 0 = real size; page multiple above 2 GiB */
  bool poison;              /* strict mode: fill fresh device memory with 0xA5 instead of zero */
  const mock_fault_t *faults; /* copied */
  size_t fault_count;
  const char *sysfs_dir; /* where the sysfs files are written as a tree; NULL = nowhere */
  bool no_reset;         /* driver parameter: resets succeed and do nothing */
  /* Execution: what mock_exec_options_t (exec.h) holds at first; its strict switch is `poison`. */
  uint64_t seed;
  bool races, exact_functions;
  uint32_t threads;  /* that run cores, at most; 0 = one per CPU */
  uint32_t reset_ms; /* how long a reset takes */
} mock_dev_options_t;

/*
 * Fills *out from the environment: NEURON_MOCK_INSTANCE, NEURON_MOCK_DRIVER_VERSION,
 * NEURON_MOCK_API_RANGE=min-max, NEURON_MOCK_HIDE_FEATURES=mask, NEURON_MOCK_HBM_SIZE=bytes (suffix
 * K, M, G), NEURON_MOCK_STRICT=1, NEURON_MOCK_NO_RESET=1, NEURON_MOCK_RESET_MS=number,
 * NEURON_MOCK_FAULT=REQUEST:NTH:ERRNO[+][,...] (REQUEST as in uapi.md without the prefix, the
 * name of an event, or "*"), NEURON_MOCK_SYSFS_DIR=directory, NEURON_MOCK_SEED=number,
 * NEURON_MOCK_RACES=1, NEURON_MOCK_EXACT_FUNCTIONS=1, NEURON_MOCK_THREADS=number. Returns 0, or
 * -EINVAL with a sentence in `error` naming the variable, the value and what is accepted. Strings
 * point into static storage valid until the next call.
 */
int mock_dev_options_from_env(mock_dev_options_t *out, char *error, size_t error_size);

/* Names of the known instance types, NULL-terminated. */
const char *const *mock_instance_names(void);

/* -EINVAL: unknown instance or bad option; -ENOMEM; with a sysfs_dir any other -errno: its tree
 * cannot be made (-ENOTEMPTY: something else lies there, -EBUSY: another machine's). The caller
 * owns *out. */
int mock_host_create(const mock_dev_options_t *options, mock_host_t **out);

/* Frees everything. No call may be running; mappings handed out become invalid. NULL is fine. */
void mock_host_destroy(mock_host_t *host);

/*
 * Paths served: /dev/neuron<N> and the driver's sysfs files (uapi.md 11 and 12; README.md has the
 * list). Anything else: -ENOENT. `flags` as for open(2); with a node the access mode chooses the
 * lane (uapi.md 2). Returns a descriptor of this mock only. A sysfs file holds what was true when
 * it was opened; -EACCES: it cannot be written.
 */
int mock_open(mock_host_t *host, int32_t tgid, const char *path, int flags);
int mock_dup(mock_host_t *host, int32_t tgid, int fd);
int mock_close(mock_host_t *host, int32_t tgid, int fd);
ssize_t mock_read(mock_host_t *host, int32_t tgid, int fd, void *buffer, size_t size);
/* One write to a sysfs file is one value. */
ssize_t mock_write(mock_host_t *host, int32_t tgid, int fd, const void *buffer, size_t size);

/* Dispatches on the full request value. A bad `arg` never crashes: see mock-device-semantics.md 1.
 */
long mock_ioctl(mock_host_t *host, int32_t tgid, int fd, uint32_t request, void *arg);

int mock_mmap(mock_host_t *host, int32_t tgid, int fd, uint64_t offset, size_t length, int prot,
              void **va);
int mock_munmap(mock_host_t *host, int32_t tgid, void *va, size_t length);

/* The process is gone: all its descriptors close, as at exit. */
void mock_process_exit(mock_host_t *host, int32_t tgid);

/* Replaces the fault plan; counting starts anew. `faults` is copied. */
int mock_set_faults(mock_host_t *host, const mock_fault_t *faults, size_t count);

/* ioctl calls answered so far with this request value; 0 = all requests. */
uint64_t mock_ioctl_count(mock_host_t *host, uint32_t request);

/* Next line of the kernel log from line number *next on, without a newline; moves *next past it and
 * past lines that are gone. Returns its length (more than `size`: it was cut), -EAGAIN: none. */
int mock_kernel_log_read(mock_host_t *host, uint64_t *next, char *line, size_t size);

/* Host view of device memory, for tests that look behind the driver. NULL when [pa, pa+size) is not
 * inside one HBM channel. Valid until mock_host_destroy. */
void *mock_dram(mock_host_t *host, uint32_t device, uint64_t pa, uint64_t size);

#ifdef __cplusplus
}
#endif

#endif
