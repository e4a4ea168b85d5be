// SPDX-License-Identifier: Apache-2.0
// The process registry of loaded models (rulings.md 15): hands out H_NN and H_MODEL numbers, finds
// a model by its H_NN, and holds an unload back while somebody uses the model.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>

#include "kmgr/kmgr.h"
#include "kmgr/parse_cache.h"

// First numbers, and the ones counting starts at again after 2^32 - 1. Two ranges that are easy to
// tell apart in a log; 0 is never given out.
constexpr H_NN KMGR_FIRST_H_NN = 10001;
constexpr H_MODEL KMGR_FIRST_H_MODEL = 1001;

struct kmgr_entry_t : kmgr_model_t {
  parse_lease lease;      // keeps `nn` and its cache slot
  uint64_t sequence = 0;  // load order; survives the wrap of the handles
  uint32_t users = 0;
  bool leaving = false;  // an unload waits for the users
};

class kmgr_registry {
 public:
  explicit kmgr_registry(H_NN next_nn = KMGR_FIRST_H_NN, H_MODEL next_model = KMGR_FIRST_H_MODEL)
      : next_nn_(next_nn), next_model_(next_model) {}

  // Gives the entry its H_MODELs, so that what its load takes can be named. They belong to no
  // loaded model until add. Throws std::bad_alloc without memory; the entry is then untouched.
  void reserve(kmgr_entry_t *entry, uint32_t num_models);
  // Gives them back, for an entry that was not added.
  void cancel(const kmgr_entry_t *entry);
  // Gives a reserved entry its H_NN and takes it over. Throws std::bad_alloc as above.
  H_NN add(std::unique_ptr<kmgr_entry_t> &entry);

  // NULL: unknown, or leaving already. Each get needs one put.
  kmgr_entry_t *get(H_NN h_nn);
  void put(kmgr_entry_t *entry);

  // Hides the entry from get at once and waits for its users. Its numbers stay taken until erase.
  // NULL: unknown, or another thread is removing it.
  kmgr_entry_t *remove_begin(H_NN h_nn);
  std::unique_ptr<kmgr_entry_t> remove_end(kmgr_entry_t *entry);

  // H_NN of the entry added last, 0 when there is none.
  H_NN newest();
  size_t list(H_NN *out, size_t capacity);
  // The model and subgraph an H_MODEL belongs to; false when it is not in use.
  bool find_h_model(H_MODEL h_model, H_NN *h_nn, uint32_t *subgraph);
  // Where counting goes on: tests stand shortly before the wrap with it.
  void set_next(H_NN next_nn, H_MODEL next_model);

 private:
  struct record_t {
    H_NN h_nn;  // 0: its load is under way
    uint32_t subgraph;
  };

  std::mutex mutex_;
  std::condition_variable idle_;
  std::map<H_NN, std::unique_ptr<kmgr_entry_t>> entries_;
  std::map<H_MODEL, record_t> records_;
  H_NN next_nn_;
  H_MODEL next_model_;
  uint64_t next_sequence_ = 1;
};
