// SPDX-License-Identifier: Apache-2.0
// The instruction streams of a NEFF, as dis and asm see them.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "isa/isa_text.h"
#include "kelf/kelf.h"
#include "neff/neff_file.h"

// Reads and lowers a file, as a load does before it touches a device. `bytes` may be NULL.
NRT_STATUS streams_load(const std::string &file, finding_sink &findings, neff_file_bytes *bytes,
                        std::shared_ptr<const kelf_nn_t> *out);
NRT_STATUS streams_lower(std::span<const uint8_t> bytes, finding_sink &findings,
                         std::shared_ptr<const kelf_nn_t> *out);

// Names of a subgraph's variables, and its DGE table.
isa_names_t streams_names(const kbin_t &kbin);

inline std::span<const isa_record> streams_records(const kbin_engine_t &engine) {
  return {reinterpret_cast<const isa_record *>(engine.instr.data()),
          engine.instr.size() / ISA_RECORD_BYTES};
}

// "pe" and so on; ISA_ENGINE_COUNT for other words.
isa_engine_t streams_engine(std::string_view name);
