// SPDX-License-Identifier: Apache-2.0
#include "tdrv/tensor_storage.h"

#include <cstdlib>

#include "tdrv/state.h"

namespace {

void delist(tensor_storage_t *storage) {
  tdrv_t *tdrv = storage->tdrv;
  if (tdrv == nullptr)
    return;
  pthread_mutex_lock(&tdrv->storages_lock);
  if (storage->prev != nullptr)
    storage->prev->next = storage->next;
  else
    tdrv->storages = storage->next;
  if (storage->next != nullptr)
    storage->next->prev = storage->prev;
  pthread_mutex_unlock(&tdrv->storages_lock);
}

}  // namespace

tensor_storage_t *tensor_storage_create(storage_kind_t kind, uint64_t size) {
  auto *storage = static_cast<tensor_storage_t *>(calloc(1, sizeof(tensor_storage_t)));
  if (storage == nullptr)
    return nullptr;
  storage->kind = kind;
  storage->owned = true;
  storage->size = size;
  storage->refs = 1;
  pthread_mutex_init(&storage->lock, nullptr);  // cannot fail with default attributes on Linux
  pthread_cond_init(&storage->idle, nullptr);
  return storage;
}

void tensor_storage_acquire(tensor_storage_t *storage) {
  __atomic_add_fetch(&storage->refs, 1, __ATOMIC_RELAXED);
}

void tensor_storage_release(tensor_storage_t *storage) {
  if (storage == nullptr || __atomic_sub_fetch(&storage->refs, 1, __ATOMIC_ACQ_REL) != 0)
    return;
  delist(storage);
  if (storage->mem != nullptr)
    dmem_free(storage->mem);
  if (storage->kind == STORAGE_MALLOC && storage->owned)
    free(storage->host);
  pthread_cond_destroy(&storage->idle);
  pthread_mutex_destroy(&storage->lock);
  free(storage);
}

void tensor_storage_enlist(tdrv_t *tdrv, tensor_storage_t *storage) {
  storage->tdrv = tdrv;
  pthread_mutex_lock(&tdrv->storages_lock);
  storage->next = tdrv->storages;
  if (storage->next != nullptr)
    storage->next->prev = storage;
  tdrv->storages = storage;
  pthread_mutex_unlock(&tdrv->storages_lock);
}

void tensor_release_all(tdrv_t *tdrv) {
  pthread_mutex_lock(&tdrv->storages_lock);
  for (tensor_storage_t *storage = tdrv->storages; storage != nullptr;) {
    tensor_storage_t *next = storage->next;
    dmem_free(storage->mem);
    storage->mem = nullptr;
    storage->host = nullptr;
    storage->tdrv = nullptr;
    storage->next = storage->prev = nullptr;
    storage = next;
  }
  tdrv->storages = nullptr;
  pthread_mutex_unlock(&tdrv->storages_lock);
}

void tensor_storage_device_begin(tensor_storage_t *storage, bool write) {
  pthread_mutex_lock(&storage->lock);
  ++(write ? storage->device_writes : storage->device_reads);
  pthread_mutex_unlock(&storage->lock);
}

void tensor_storage_device_end(tensor_storage_t *storage, bool write) {
  pthread_mutex_lock(&storage->lock);
  if (--(write ? storage->device_writes : storage->device_reads) == 0)
    pthread_cond_broadcast(&storage->idle);
  pthread_mutex_unlock(&storage->lock);
}

void tensor_storage_wait(tensor_storage_t *storage, bool write) {
  pthread_mutex_lock(&storage->lock);
  while (storage->device_writes != 0 || (write && storage->device_reads != 0))
    pthread_cond_wait(&storage->idle, &storage->lock);
  pthread_mutex_unlock(&storage->lock);
}
