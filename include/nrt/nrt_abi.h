/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers of the public headers: compile-time layout checks for C11 and later, and C++. */
#ifndef NRT_NRT_ABI_H
#define NRT_NRT_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define NRT_ABI_ASSERT(condition) static_assert(condition, #condition)
#else
#define NRT_ABI_ASSERT(condition) _Static_assert(condition, #condition)
#endif

#define NRT_ABI_SIZE(type, size) NRT_ABI_ASSERT(sizeof(type) == (size))
#define NRT_ABI_AT(type, member, offset) NRT_ABI_ASSERT(offsetof(type, member) == (offset))

#endif
