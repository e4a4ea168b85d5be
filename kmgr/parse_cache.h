// SPDX-License-Identifier: Apache-2.0
// Parse cache (rulings.md 14): one slot, keyed by UUID, so that one file going onto many cores is
// parsed once.
//
//   UNINIT --first loader--> PENDING --parsed--> READY --last reference--> UNINIT
//                                   \--refused--> FAILED --last reference--> UNINIT
//
// A reference is held by the loader that parses, by every loader that waits for it, and by every
// model made from the result, until its unload: a model keeps its lowered form alive anyway, so
// holding the slot as long costs nothing and later loads of the file profit too.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "kelf/kelf.h"
#include "kmgr/kmgr.h"

enum class parse_state_t { UNINIT, PENDING, READY, FAILED };

// What makes two loads the same. The UUID finds the slot; the SHA-256 covers header and payload, so
// that a file with a reused UUID never gets another file's plan.
struct parse_key_t {
  std::array<uint8_t, 16> uuid{};
  std::array<uint8_t, 32> digest{};
};

parse_key_t parse_key_make(const uint8_t uuid[16], std::span<const uint8_t> file);

class parse_cache;

// A parsed file in use; gives its slot reference back when it goes.
class parse_lease {
 public:
  parse_lease() = default;
  parse_lease(parse_lease &&other) noexcept { swap(other); }
  parse_lease &operator=(parse_lease &&other) noexcept {
    parse_lease(std::move(other)).swap(*this);
    return *this;
  }
  parse_lease(const parse_lease &) = delete;
  parse_lease &operator=(const parse_lease &) = delete;
  ~parse_lease();

  const std::shared_ptr<const kelf_nn_t> &nn() const { return nn_; }
  bool reused() const { return reused_; }

 private:
  friend class parse_cache;
  void swap(parse_lease &other) noexcept {
    std::swap(cache_, other.cache_);
    std::swap(nn_, other.nn_);
    std::swap(reused_, other.reused_);
  }

  parse_cache *cache_ = nullptr;  // NULL: parsed alone, holds no slot reference
  std::shared_ptr<const kelf_nn_t> nn_;
  bool reused_ = false;
};

class parse_cache {
 public:
  // Parses and lowers the file at hand. Called without the cache's lock; may run on several threads
  // at once (those that parse alone).
  using parser = std::function<NRT_STATUS(std::shared_ptr<const kelf_nn_t> *)>;

  // Reuses the slot's result, waits for it, fills the slot, or parses alone; see the file comment.
  // The status is the parser's own.
  NRT_STATUS acquire(const parse_key_t &key, const parser &parse, parse_lease *out);

  void stats(kmgr_cache_stats_t *out);
  parse_state_t state();
  uint32_t references();

 private:
  friend class parse_lease;
  NRT_STATUS parse_alone(const parser &parse, parse_lease *out);
  void release();
  void release_locked();

  std::mutex mutex_;
  std::condition_variable changed_;
  parse_state_t state_ = parse_state_t::UNINIT;
  uint32_t references_ = 0;
  parse_key_t key_{};
  std::shared_ptr<const kelf_nn_t> nn_;
  kmgr_cache_stats_t stats_{};
};
