// SPDX-License-Identifier: Apache-2.0
// Where sysfs files are read: below the root of NEURON_RT_SYSFS_ROOT.
#pragma once

#include <string>

#include "hal/kernel.h"

// Reads NEURON_RT_SYSFS_ROOT: an existing directory. *out is empty when it is not set, and has no
// slash at its end but in "/". NRT_INVALID with one ERROR line otherwise.
NRT_STATUS hal_sysfs_root_from_env(std::string *out);

// Reads a small file, `path` below `root`, through a syscall table. Bytes read or -errno.
ssize_t hal_sysfs_read(const hal_syscalls_t *sys, const std::string &root, const char *path,
                       char *buffer, size_t size);
