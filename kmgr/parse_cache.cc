// SPDX-License-Identifier: Apache-2.0
#include "kmgr/parse_cache.h"

#include <cstring>

#include "base/nlog.h"
#include "neff/neff_digest.h"

parse_key_t parse_key_make(const uint8_t uuid[16], std::span<const uint8_t> file) {
  parse_key_t key;
  memcpy(key.uuid.data(), uuid, key.uuid.size());
  key.digest = neff_sha256(file);
  return key;
}

parse_lease::~parse_lease() {
  if (cache_ == nullptr)
    return;
  nn_.reset();
  cache_->release();
}

void parse_cache::release_locked() {
  if (--references_ != 0)
    return;
  state_ = parse_state_t::UNINIT;
  nn_.reset();
}

void parse_cache::release() {
  // The lowered form may be large: it is freed outside the lock.
  std::shared_ptr<const kelf_nn_t> last;
  std::lock_guard lock(mutex_);
  if (references_ == 1)
    last = nn_;
  release_locked();
}

NRT_STATUS parse_cache::parse_alone(const parser &parse, parse_lease *out) {
  {
    std::lock_guard lock(mutex_);
    stats_.parses++;
  }
  parse_lease lease;
  NRT_STATUS status = parse(&lease.nn_);
  if (status == NRT_SUCCESS)
    *out = std::move(lease);
  return status;
}

NRT_STATUS parse_cache::acquire(const parse_key_t &key, const parser &parse, parse_lease *out) {
  {
    std::unique_lock lock(mutex_);
    if (state_ != parse_state_t::UNINIT) {
      bool same_uuid = key_.uuid == key.uuid;
      bool same_content = key_.digest == key.digest;
      if (same_uuid && !same_content) {
        stats_.conflicts++;
        lock.unlock();
        NLOG_WARN(NLOG_NMGR,
                  "two different NEFFs carry the UUID {}; the second one is parsed on its own",
                  neff_uuid_text(key.uuid.data()));
        return parse_alone(parse, out);
      }
      if (!same_uuid || state_ == parse_state_t::FAILED) {
        lock.unlock();
        return parse_alone(parse, out);
      }
      references_++;
      changed_.wait(lock, [this] { return state_ != parse_state_t::PENDING; });
      if (state_ == parse_state_t::READY) {
        stats_.hits++;
        parse_lease lease;
        lease.cache_ = this;
        lease.nn_ = nn_;
        lease.reused_ = true;
        lock.unlock();
        *out = std::move(lease);
        return NRT_SUCCESS;
      }
      release_locked();
      lock.unlock();
      return parse_alone(parse, out);
    }
    state_ = parse_state_t::PENDING;
    references_ = 1;
    key_ = key;
    stats_.parses++;
  }

  // This thread fills the slot. Whatever happens, even an exception, the waiters must wake up.
  struct settle_t {
    parse_cache *cache;
    std::shared_ptr<const kelf_nn_t> nn;
    bool ready = false;
    ~settle_t() {
      {
        std::lock_guard lock(cache->mutex_);
        cache->state_ = ready ? parse_state_t::READY : parse_state_t::FAILED;
        if (ready)
          cache->nn_ = nn;
        if (!ready)
          cache->release_locked();
      }
      cache->changed_.notify_all();
    }
  };
  parse_lease lease;
  NRT_STATUS status = NRT_FAILURE;
  {
    settle_t settle{this, nullptr};
    status = parse(&settle.nn);
    settle.ready = status == NRT_SUCCESS;
    if (settle.ready) {
      lease.cache_ = this;
      lease.nn_ = settle.nn;
    }
  }
  if (status == NRT_SUCCESS)
    *out = std::move(lease);
  return status;
}

void parse_cache::stats(kmgr_cache_stats_t *out) {
  std::lock_guard lock(mutex_);
  *out = stats_;
}

parse_state_t parse_cache::state() {
  std::lock_guard lock(mutex_);
  return state_;
}

uint32_t parse_cache::references() {
  std::lock_guard lock(mutex_);
  return references_;
}
