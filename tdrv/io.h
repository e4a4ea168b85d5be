// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs of a model on a logical core (rulings.md 6): one device slot per name and
// direction, aliased by the records of all subgraphs.
#pragma once

#include "tdrv/model.h"

// Collects the slots of all subgraphs' inputs and outputs and, when `allocate`, gives each its
// device memory on the first core; then points every record at its slot. A slot is as large as the
// largest entry of its name and as aligned as the strictest one.
NRT_STATUS io_slots_init(vtpb_info_shared_t *info, const kelf_nn_t *nn, bool allocate);
void io_slots_free(vtpb_info_shared_t *info);
