// SPDX-License-Identifier: Apache-2.0
// Copies between the caller's memory and the mock that survive bad pointers. Like the kernel's,
// they report what is missing instead of failing as a whole: each returns the number of bytes NOT
// copied.
//
// The kernel is the judge of an address: small copies go through read and write calls on a scratch
// file, large ones ask it to fault the pages in first and then copy at memory speed.
#pragma once

#include <cstddef>
#include <cstdint>

size_t mock_user_read(void *to, const void *user, size_t size);
size_t mock_user_write(void *user, const void *from, size_t size);

// From the caller to mapped memory, in pieces of 64 KiB. A piece that cannot be read in full is not
// written at all; what is missing of that piece is returned.
size_t mock_user_to_memory(uint8_t *memory, const void *user, size_t size);

// The same, but nothing is written unless everything can be read.
size_t mock_user_to_memory_whole(uint8_t *memory, const void *user, size_t size);

// From the caller to a memory file mapped at `bytes`; what precedes the fault stays written.
size_t mock_user_to_file(int fd, uint8_t *bytes, uint64_t offset, const void *user, size_t size);

// From a memory file mapped at `bytes` to the caller, in pieces of `piece` bytes: what is missing
// of the piece that failed.
size_t mock_user_from_file(int fd, const uint8_t *bytes, uint64_t offset, void *user, size_t size,
                           size_t piece);

// Faults in the caller's pages. False: some of them cannot be read (or written).
bool mock_user_pin(const void *user, size_t size, bool for_writing);
