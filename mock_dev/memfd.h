/* SPDX-License-Identifier: Apache-2.0 */
/* Anonymous memory files of the mock. */
#ifndef MOCK_DEV_MEMFD_H
#define MOCK_DEV_MEMFD_H

#include <stdint.h>

/*
 * A sparse memory file of `size` bytes, or -1. Never one of the descriptors 0 to 2: in a program
 * that has closed its standard output, the next print would land in the device's memory.
 */
int mock_memfd(const char *name, uint64_t size);

#endif
