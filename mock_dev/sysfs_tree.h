// SPDX-License-Identifier: Apache-2.0
// The sysfs table as a directory of real files, for programs that read files
// (NEURON_MOCK_SYSFS_DIR).
//
// The files mirror the machine: they are read-only, and writing to them is not seen. Files are
// replaced by renaming, so a reader finds either the old or the new content.
#pragma once

#include "mock_dev/host.h"

// Makes the tree sys/ below `dir`, an absolute or relative path. `dir` has to be empty, or left
// behind by a machine that is gone (then its tree is replaced), or not exist in an existing
// directory (then it is made, and removed by destroy). 0, or -errno of the first call that failed;
// -ENOTEMPTY: something else lies there; -EBUSY: a living machine has it. Nothing is left behind
// then.
int mock_sysfs_tree_create(mock_host *host, const char *dir);

// Rewrites the files of a device whose content has changed since they were written, and only those.
// Without a tree it does nothing. The caller holds no lock. A file that cannot be written keeps its
// old content until the next change.
void mock_sysfs_tree_update(mock_host *host, uint32_t device);

// Removes what create made. Without a tree it does nothing.
void mock_sysfs_tree_destroy(mock_host *host);
