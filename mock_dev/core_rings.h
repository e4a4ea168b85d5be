// SPDX-License-Identifier: Apache-2.0
// The DMA engines of a core while it runs: held, so that the scheduler says when a packet moves.
// Without a seed that is at once, in the order of engines and queues; with one at any later time,
// in order within a ring.
#pragma once

#include "mock_dev/core.h"

// With a run under way or about to begin, and when it is over: what was submitted moves then.
void mock_core_rings_hold(mock_core_t *core);
void mock_core_rings_release(mock_core_t *core);

// Queues that can move a packet, in core->ready; their number.
uint32_t mock_core_rings_ready(mock_core_t *core);
void mock_core_rings_step(mock_core_t *core, mock_udma_ref_t queue);
// Everything that can move.
void mock_core_rings_drain(mock_core_t *core);
