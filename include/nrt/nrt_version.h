/* SPDX-License-Identifier: Apache-2.0 */
/* Release of the runtime (nrt-api.md 1.3). */
#ifndef NRT_NRT_VERSION_H
#define NRT_NRT_VERSION_H

#include <stddef.h>
#include <stdint.h>

#include "nrt/nrt_abi.h"
#include "nrt/nrt_status.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define RT_VERSION_DETAIL_LEN 128
#define GIT_HASH_LEN 64

typedef struct nrt_version {
  uint64_t rt_major;
  uint64_t rt_minor;
  uint64_t rt_patch;
  uint64_t rt_maintenance;
  char rt_detail[RT_VERSION_DETAIL_LEN];
  char git_hash[GIT_HASH_LEN];
} nrt_version_t;
NRT_ABI_SIZE(nrt_version_t, 224);
NRT_ABI_AT(nrt_version_t, rt_maintenance, 24);
NRT_ABI_AT(nrt_version_t, rt_detail, 32);
NRT_ABI_AT(nrt_version_t, git_hash, 160);

/*
 * Copies at most `size` bytes: the numbers of the ABI this library implements, and in rt_detail
 * which library it is. Needs no nrt_init. NRT_FAILURE: `size` does not reach git_hash.
 */
NRT_STATUS nrt_get_version(nrt_version_t *ver, size_t size);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
