// SPDX-License-Identifier: Apache-2.0
// The files the load is measured with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

// A model of a million variables, by far most of them virtual; 2 % each are weights of 1 KiB with a
// member of their own, private scratch and pointers, and 64 each inputs and outputs.
std::string bench_million_def();
// Its file; def.json is the longest member.
std::vector<uint8_t> bench_million_neff(const std::string &def, bool compress);

std::vector<uint8_t> bench_read_file(const std::string &path);
void bench_write_file(const std::string &path, const void *bytes, size_t size);
