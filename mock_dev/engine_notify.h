// SPDX-License-Identifier: Apache-2.0
// Notifications that an engine sends (A6), and what they mean for the run.
#pragma once

#include "mock_dev/engine.h"

// START and END mark the engine active; the END that leaves no engine active ends the run, and
// finds transfers that are still under way (rulings.md 22).
const char *mock_engine_notify(mock_exec_record_t *x);
