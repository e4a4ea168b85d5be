// SPDX-License-Identifier: Apache-2.0
// What a load checks before it touches a device, free of devices itself: `neff verify` runs the
// same functions with a collecting sink.
#pragma once

#include <span>

#include "hal/arch.h"
#include "kmgr/kmgr.h"

// Header, digest, archive, JSON, lowering, remote names: everything that can be said about a file
// without a machine.
NRT_STATUS kmgr_parse(std::span<const uint8_t> file, const kmgr_options_t &options,
                      finding_sink &findings, std::shared_ptr<const kelf_nn_t> *out);

constexpr uint32_t KMGR_MAX_LNC_SIZE = 8;  // physical cores of the largest device

// The header's own claim about cores, no machine needed: with feature bit 10 set, lnc_size must be
// 1 to 8.
NRT_STATUS kmgr_check_lnc_size(const neff_header_t &header, finding_sink &findings);
// The claim against logical cores of `lnc` physical cores: NRT_LOAD_NOT_ENOUGH_NC when the file
// needs larger ones, NRT_INVALID when it needs smaller ones. Files without feature bit 10 pass.
NRT_STATUS kmgr_check_lnc(const neff_header_t &header, uint32_t lnc, finding_sink &findings);
// The architecture the file was compiled for against the machine's.
NRT_STATUS kmgr_check_target(const kelf_nn_t &nn, const hal_arch_t &arch, bool allow_legacy,
                             finding_sink &findings);

// A machine to check against.
struct kmgr_machine_t {
  const hal_arch_t *arch;
  uint32_t lnc;  // logical core size
};

// Everything a load checks before it touches a device, in the order of a load. `machine` NULL:
// only what holds on every machine. With a collecting sink it goes on past findings where it can.
// `out` may be NULL.
NRT_STATUS kmgr_verify(std::span<const uint8_t> file, const kmgr_options_t &options,
                       const kmgr_machine_t *machine, finding_sink &findings,
                       std::shared_ptr<const kelf_nn_t> *out);
