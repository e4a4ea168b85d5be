// SPDX-License-Identifier: Apache-2.0
#include "kmgr/registry.h"

// The next number no live object has. At most one step per live object, because every number looked
// at and refused belongs to one.
template <typename Map>
static uint32_t id_take(const Map &live, uint32_t first, uint32_t *next) {
  for (;;) {
    uint32_t id = *next;
    *next = id == UINT32_MAX ? first : id + 1;
    if (!live.contains(id))
      return id;
  }
}

void kmgr_registry::reserve(kmgr_entry_t *entry, uint32_t num_models) {
  std::lock_guard lock(mutex_);
  H_MODEL ids[TDRV_MAX_LNC] = {};
  uint32_t taken = 0;
  try {
    for (; taken < num_models && taken < TDRV_MAX_LNC; taken++) {
      ids[taken] = id_take(records_, KMGR_FIRST_H_MODEL, &next_model_);
      records_.emplace(ids[taken], record_t{0, taken});
    }
  } catch (...) {
    while (taken > 0)
      records_.erase(ids[--taken]);
    throw;
  }
  for (uint32_t i = 0; i < TDRV_MAX_LNC; i++)
    entry->h_models[i] = ids[i];
}

void kmgr_registry::cancel(const kmgr_entry_t *entry) {
  std::lock_guard lock(mutex_);
  for (H_MODEL h_model : entry->h_models)
    records_.erase(h_model);
}

H_NN kmgr_registry::add(std::unique_ptr<kmgr_entry_t> &entry) {
  std::lock_guard lock(mutex_);
  H_NN h_nn = id_take(entries_, KMGR_FIRST_H_NN, &next_nn_);
  auto slot = entries_.emplace(h_nn, nullptr).first;
  for (H_MODEL h_model : entry->h_models) {
    if (auto record = records_.find(h_model); record != records_.end())
      record->second.h_nn = h_nn;
  }
  entry->h_nn = h_nn;
  entry->sequence = next_sequence_++;
  slot->second = std::move(entry);
  return h_nn;
}

kmgr_entry_t *kmgr_registry::get(H_NN h_nn) {
  std::lock_guard lock(mutex_);
  auto it = entries_.find(h_nn);
  if (it == entries_.end() || it->second->leaving)
    return nullptr;
  it->second->users++;
  return it->second.get();
}

void kmgr_registry::put(kmgr_entry_t *entry) {
  std::lock_guard lock(mutex_);
  if (--entry->users == 0 && entry->leaving)
    idle_.notify_all();
}

kmgr_entry_t *kmgr_registry::remove_begin(H_NN h_nn) {
  std::unique_lock lock(mutex_);
  auto it = entries_.find(h_nn);
  if (it == entries_.end() || it->second->leaving)
    return nullptr;
  kmgr_entry_t *entry = it->second.get();
  entry->leaving = true;
  idle_.wait(lock, [entry] { return entry->users == 0; });
  return entry;
}

std::unique_ptr<kmgr_entry_t> kmgr_registry::remove_end(kmgr_entry_t *entry) {
  std::lock_guard lock(mutex_);
  for (H_MODEL h_model : entry->h_models)
    records_.erase(h_model);
  auto it = entries_.find(entry->h_nn);
  std::unique_ptr<kmgr_entry_t> owned = std::move(it->second);
  entries_.erase(it);
  return owned;
}

H_NN kmgr_registry::newest() {
  std::lock_guard lock(mutex_);
  const kmgr_entry_t *found = nullptr;
  for (const auto &[h_nn, entry] : entries_) {
    if (!entry->leaving && (found == nullptr || entry->sequence > found->sequence))
      found = entry.get();
  }
  return found != nullptr ? found->h_nn : 0;
}

size_t kmgr_registry::list(H_NN *out, size_t capacity) {
  std::lock_guard lock(mutex_);
  size_t count = 0;
  for (const auto &[h_nn, entry] : entries_) {
    if (entry->leaving)
      continue;
    if (count < capacity)
      out[count] = h_nn;
    count++;
  }
  return count;
}

bool kmgr_registry::find_h_model(H_MODEL h_model, H_NN *h_nn, uint32_t *subgraph) {
  std::lock_guard lock(mutex_);
  auto it = records_.find(h_model);
  if (it == records_.end() || it->second.h_nn == 0)
    return false;
  *h_nn = it->second.h_nn;
  *subgraph = it->second.subgraph;
  return true;
}

void kmgr_registry::set_next(H_NN next_nn, H_MODEL next_model) {
  std::lock_guard lock(mutex_);
  next_nn_ = next_nn;
  next_model_ = next_model;
}
