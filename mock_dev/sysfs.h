// SPDX-License-Identifier: Apache-2.0
// The driver's sysfs files (uapi.md 11 and 12) as one table of nodes. mock_open serves them live;
// sysfs_tree.* writes the same table below a directory.
//
// The caller holds no lock of the machine in show and store.
#pragma once

#include <cstddef>
#include <cstdint>

struct mock_host;

// One file: a row of the table and what stands for its placeholders.
struct mock_sysfs_ref_t {
  uint16_t node;
  uint16_t device, core;
  uint16_t name;  // index into the row's names
  uint16_t stat;  // total, present, peak
};

constexpr size_t MOCK_SYSFS_TEXT = 320;
constexpr size_t MOCK_SYSFS_PATH = 160;

// The file at an absolute path. Both /sys/class/neuron_device/neuron<N> and
// /sys/devices/virtual/neuron_device/neuron<N> lead to a device, as on a real machine.
bool mock_sysfs_find(const mock_host *host, const char *path, mock_sysfs_ref_t *out);

// Walks over all files of a machine with so many devices, and cores each: start with {}, which is
// one itself. False: that was the last one.
bool mock_sysfs_next(uint32_t devices, uint32_t cores, mock_sysfs_ref_t *ref);

// The path below the file's real directory, never through a class link.
void mock_sysfs_path(const mock_sysfs_ref_t *ref, char (&path)[MOCK_SYSFS_PATH]);

uint32_t mock_sysfs_mode(const mock_sysfs_ref_t *ref);

// The file's content now, NUL-terminated; returns its length.
size_t mock_sysfs_show(mock_host *host, const mock_sysfs_ref_t *ref, char (&text)[MOCK_SYSFS_TEXT]);

// Visits the files of a device whose content is a number that changes, always in the same order.
// The device is locked meanwhile.
void mock_sysfs_live(mock_host *host, uint32_t device,
                     void (*visit)(void *user, const mock_sysfs_ref_t *ref, int64_t value),
                     void *user);

// What a write to the file does. -EIO: it has no way to take one.
int mock_sysfs_store(mock_host *host, const mock_sysfs_ref_t *ref, const char *text);
