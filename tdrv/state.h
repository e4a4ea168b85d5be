// SPDX-License-Identifier: Apache-2.0
// What tdrv_t holds. Private to this folder.
#pragma once

#include <pthread.h>

#include "tdrv/tdrv.h"

struct tensor_storage_t;

struct tdrv_hbm_map_t {
  void *va;  // NULL: not mapped yet
  uint64_t size;
};

struct tdrv_device_t {
  hal_device_t *device;
  dmem_device_t *stats;
  tdrv_hbm_map_t hbms[HAL_MAX_HBM];  // whole HBMs, under storages_lock (export.cc)
};

struct tdrv_t {
  hal_t *hal;
  tdrv_options_t options;
  uint32_t first_core, num_cores;  // physical cores of the machine this process owns
  bool claimed;
  uint32_t first_device, num_devices;  // positions of the devices those cores are on
  tdrv_device_t *devices;
  tpb_t *tpbs;          // num_cores
  uint32_t tpbs_ready;  // set up so far
  vcore_t *vcores;      // options.num_vncs
  // Device-backed storages that still live: close takes their memory away, so that a tensor freed
  // later touches nothing.
  pthread_mutex_t storages_lock;
  tensor_storage_t *storages;
};

// Takes the memory of every live device storage (tensor.cc).
void tensor_release_all(tdrv_t *tdrv);
