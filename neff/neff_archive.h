// SPDX-License-Identifier: Apache-2.0
// Walks the archive of a payload and fills a neff's member table.
#pragma once

#include "neff/neff.h"

struct neff_archive_reader {
  // Findings name the member and the byte offset in the tar ("tar+0x1400"). What was read before a
  // defect stays in *out.
  static NRT_STATUS read(std::span<const uint8_t> payload, const neff_limits &limits,
                         finding_sink &findings, neff *out);
};
