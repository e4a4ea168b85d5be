// SPDX-License-Identifier: Apache-2.0
// Races and strict mode while cores run: what the watchers of the cores hear goes to one checker
// per machine (check.h), findings come back as text.
#pragma once

#include "mock_dev/decode.h"
#include "mock_dev/exec.h"
#include "mock_dev/watch.h"

struct mock_core_t;
struct mock_watcher_t;

// For options that check something. nullptr: out of memory.
mock_watcher_t *mock_watcher_create(mock_host *host, const mock_exec_options_t *options);
void mock_watcher_destroy(mock_watcher_t *watcher);  // no core may run. NULL is fine

// The watch of a core, made on first use; nullptr: out of memory.
mock_watch_t *mock_watcher_core(mock_watcher_t *watcher, mock_core_t *core);

// As the functions of exec.h.
int mock_watcher_finding(mock_watcher_t *watcher, char *text, size_t size, uint64_t *dropped);
int mock_watcher_finding_at(mock_watcher_t *watcher, uint64_t index, char *text, size_t size);
