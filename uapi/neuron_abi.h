/* SPDX-License-Identifier: Apache-2.0 */
/* What every header here needs: fixed-width types and compile-time checks for both languages. */
#ifndef UAPI_NEURON_ABI_H
#define UAPI_NEURON_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define NEURON_ABI_ASSERT(condition, text) static_assert(condition, text)
#define NEURON_ABI_ALIGNOF(type) alignof(type)
#else
#define NEURON_ABI_ASSERT(condition, text) _Static_assert(condition, text)
#define NEURON_ABI_ALIGNOF(type) _Alignof(type)
#endif

/* Pins one structure's size and alignment, and the place of one member. */
#define NEURON_ABI_SIZE(tag, size, align)                                             \
  NEURON_ABI_ASSERT(sizeof(struct tag) == (size), #tag " must have " #size " bytes"); \
  NEURON_ABI_ASSERT(NEURON_ABI_ALIGNOF(struct tag) == (align), #tag " must align to " #align)
#define NEURON_ABI_AT(tag, member, offset)                    \
  NEURON_ABI_ASSERT(offsetof(struct tag, member) == (offset), \
                    #tag "." #member " must be at " #offset)

NEURON_ABI_ASSERT(sizeof(void *) == 8, "the driver has no interface for 32-bit processes");

#endif
