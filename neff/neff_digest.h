// SPDX-License-Identifier: Apache-2.0
// The two digests a header can hold, over a whole payload.
#pragma once

#include <array>
#include <cstdint>
#include <span>

std::array<uint8_t, 16> neff_md5(std::span<const uint8_t> bytes);
std::array<uint8_t, 32> neff_sha256(std::span<const uint8_t> bytes);
// Each 4-byte word byte-reversed: the order current compilers store (neff-format.md 1.2).
std::array<uint8_t, 16> neff_md5_word_reversed(const std::array<uint8_t, 16> &md5);
