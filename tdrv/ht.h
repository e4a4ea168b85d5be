// SPDX-License-Identifier: Apache-2.0
// Intrusive hash table (rulings.md 3, mem-ref.md 5.2): integer and buffer keys, chained, grows so
// that lookups stay flat, refuses duplicate keys, lets the current node go during iteration, frees
// each node once on destroy. The caller supplies the node; ht_find never allocates. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nrt/nrt_status.h"

enum ht_key_type_t : uint32_t { HT_KEY_INT = 0, HT_KEY_BUF = 1 };

struct ht_node_t {
  uint64_t key;  // the integer, or a buffer key's hash
  void *value;   // buffer keys: the key bytes (owned by the caller); integer keys: free for use
  uint64_t buf_size;  // bytes of a buffer key
  uint64_t bucket;    // index of the chain the node is in
  ht_key_type_t key_type;
  ht_node_t *next;
};
static_assert(sizeof(ht_node_t) == 48);
static_assert(offsetof(ht_node_t, value) == 8 && offsetof(ht_node_t, buf_size) == 16 &&
              offsetof(ht_node_t, bucket) == 24 && offsetof(ht_node_t, key_type) == 32 &&
              offsetof(ht_node_t, next) == 40);

// A chain and the key of its first node, so that nearly every lookup is settled without reading a
// node. Bit 0 of `head` is set when that key is a buffer's hash: no integer is mistaken for it.
struct ht_bucket_t {
  uint64_t key;    // 0 while the chain is empty
  uintptr_t head;  // the first node, or 0
};
constexpr uintptr_t HT_BUFFER_HEAD = 1;

using ht_free_cb_t = void (*)(ht_node_t *node);

// Fields are ht.cc's own; they stand here so that ht_find compiles into its callers.
struct ht_t {
  ht_bucket_t *buckets;
  size_t bucket_count;
  uint32_t shift;  // 64 - log2(bucket_count): the hash's top bits select the chain
  size_t count;
  size_t grow_at;  // node count that triggers the next doubling
  ht_free_cb_t free_cb;
};

// 2^64 divided by the golden ratio. Keys that lie densely spread almost evenly, and keys that
// differ only in their high or low bits do not fall into one chain.
constexpr uint64_t HT_MULTIPLIER = 0x9E3779B97F4A7C15ull;

inline const ht_bucket_t *ht_bucket_of(const ht_t *table, uint64_t key) {
  // Ids count from 0: each has a bucket of its own, and neighbours lie side by side.
  uint64_t hashed = (key * HT_MULTIPLIER) >> table->shift;
  return &table->buckets[key < table->bucket_count ? key : hashed];
}

// `buckets` is the first size (0 = 1024), rounded up to a power of two. NRT_RESOURCE without
// memory.
NRT_STATUS ht_init(ht_t **table, size_t buckets, ht_free_cb_t free_cb);
// NRT_INVALID: the key is present already (the table is unchanged).
NRT_STATUS ht_insert(ht_t *table, uint64_t key, ht_node_t *node);
NRT_STATUS ht_insert_buf(ht_t *table, const void *key, size_t size, ht_node_t *node);
ht_node_t *ht_find_in_chain(const ht_bucket_t *bucket, uint64_t key);  // for ht_find
inline ht_node_t *ht_find(const ht_t *table, uint64_t key) {
  const ht_bucket_t *bucket = ht_bucket_of(table, key);
  // An empty chain answers here too, when asked for key 0.
  if (bucket->key == key && (bucket->head & HT_BUFFER_HEAD) == 0) [[likely]]
    return reinterpret_cast<ht_node_t *>(bucket->head);
  return ht_find_in_chain(bucket, key);
}
ht_node_t *ht_find_buf(const ht_t *table, const void *key, size_t size);
// Unlinks without calling the free callback. NRT_INVALID: not in this table.
NRT_STATUS ht_remove(ht_t *table, ht_node_t *node);
size_t ht_count(const ht_t *table);
// Calls back for every node; stops when the callback returns false. The callback may remove or free
// the node it is given, nothing else.
void ht_for_each(ht_t *table, bool (*callback)(ht_node_t *node, void *user), void *user);
// Calls the free callback (when there is one) once per node. NULL is fine.
void ht_destroy(ht_t *table);
