// SPDX-License-Identifier: Apache-2.0
#include "tdrv/ht.h"

#include <bit>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

constexpr size_t kDefaultBuckets = 1024;
constexpr size_t kMinBuckets = 2;  // one bucket would need a shift by 64
constexpr size_t kMaxBuckets = size_t{1} << 48;
static_assert(alignof(ht_node_t) > HT_BUFFER_HEAD);

uint64_t hash_bytes(const void *key, size_t size) {
  return std::hash<std::string_view>{}(std::string_view(static_cast<const char *>(key), size));
}

bool same_bytes(const ht_node_t *node, uint64_t hash, const void *key, size_t size) {
  return node->key == hash && node->key_type == HT_KEY_BUF && node->buf_size == size &&
         (size == 0 || memcmp(node->value, key, size) == 0);
}

ht_node_t *first_node(const ht_bucket_t *bucket) {
  return reinterpret_cast<ht_node_t *>(bucket->head & ~HT_BUFFER_HEAD);
}

void set_first_node(ht_bucket_t *bucket, ht_node_t *node) {
  bucket->key = node != nullptr ? node->key : 0;
  bucket->head = reinterpret_cast<uintptr_t>(node);
  if (node != nullptr && node->key_type == HT_KEY_BUF)
    bucket->head |= HT_BUFFER_HEAD;
}

void set_size(ht_t *table, ht_bucket_t *buckets, size_t count) {
  table->buckets = buckets;
  table->bucket_count = count;
  table->shift = 64 - static_cast<uint32_t>(std::countr_zero(count));
  // Half full at most: chains stay at one or two nodes, so the cost of a lookup does not move with
  // the table's size.
  table->grow_at = count / 2;
}

void link_node(ht_t *table, ht_node_t *node) {
  auto *bucket = const_cast<ht_bucket_t *>(ht_bucket_of(table, node->key));
  node->bucket = static_cast<uint64_t>(bucket - table->buckets);
  node->next = first_node(bucket);
  set_first_node(bucket, node);
}

// Doubles the table. Without memory it stays as it is: chains get longer, nothing is lost.
void grow(ht_t *table) {
  size_t old_count = table->bucket_count;
  if (old_count >= kMaxBuckets)
    return;
  auto *buckets = static_cast<ht_bucket_t *>(calloc(old_count * 2, sizeof(ht_bucket_t)));
  if (buckets == nullptr)
    return;
  ht_bucket_t *old = table->buckets;
  set_size(table, buckets, old_count * 2);
  for (size_t i = 0; i < old_count; ++i) {
    for (ht_node_t *node = first_node(&old[i]); node != nullptr;) {
      ht_node_t *next = node->next;
      link_node(table, node);
      node = next;
    }
  }
  free(old);
}

void insert_node(ht_t *table, ht_node_t *node) {
  if (table->count >= table->grow_at)
    grow(table);
  link_node(table, node);
  ++table->count;
}

}  // namespace

NRT_STATUS ht_init(ht_t **table, size_t buckets, ht_free_cb_t free_cb) {
  *table = nullptr;
  if (buckets == 0)
    buckets = kDefaultBuckets;
  if (buckets > kMaxBuckets)
    return NRT_RESOURCE;
  buckets = std::bit_ceil(buckets < kMinBuckets ? kMinBuckets : buckets);
  auto *created = static_cast<ht_t *>(calloc(1, sizeof(ht_t)));
  auto *array = static_cast<ht_bucket_t *>(calloc(buckets, sizeof(ht_bucket_t)));
  if (created == nullptr || array == nullptr) {
    free(created);
    free(array);
    return NRT_RESOURCE;
  }
  set_size(created, array, buckets);
  created->free_cb = free_cb;
  *table = created;
  return NRT_SUCCESS;
}

NRT_STATUS ht_insert(ht_t *table, uint64_t key, ht_node_t *node) {
  if (ht_find(table, key) != nullptr)
    return NRT_INVALID;
  node->key = key;
  node->buf_size = 0;
  node->key_type = HT_KEY_INT;
  insert_node(table, node);
  return NRT_SUCCESS;
}

NRT_STATUS ht_insert_buf(ht_t *table, const void *key, size_t size, ht_node_t *node) {
  if (ht_find_buf(table, key, size) != nullptr)
    return NRT_INVALID;
  node->key = hash_bytes(key, size);
  node->value = const_cast<void *>(key);
  node->buf_size = size;
  node->key_type = HT_KEY_BUF;
  insert_node(table, node);
  return NRT_SUCCESS;
}

ht_node_t *ht_find_in_chain(const ht_bucket_t *bucket, uint64_t key) {
  ht_node_t *node = first_node(bucket);
  while (node != nullptr && (node->key != key || node->key_type != HT_KEY_INT))
    node = node->next;
  return node;
}

ht_node_t *ht_find_buf(const ht_t *table, const void *key, size_t size) {
  uint64_t hash = hash_bytes(key, size);
  ht_node_t *node = first_node(ht_bucket_of(table, hash));
  while (node != nullptr && !same_bytes(node, hash, key, size))
    node = node->next;
  return node;
}

NRT_STATUS ht_remove(ht_t *table, ht_node_t *node) {
  // A node of another table may carry any bucket number: it is only a hint where to look.
  if (node->bucket >= table->bucket_count)
    return NRT_INVALID;
  ht_bucket_t *bucket = &table->buckets[node->bucket];
  ht_node_t *before = nullptr, *at = first_node(bucket);
  while (at != nullptr && at != node) {
    before = at;
    at = at->next;
  }
  if (at == nullptr)
    return NRT_INVALID;
  if (before == nullptr)
    set_first_node(bucket, node->next);
  else
    before->next = node->next;
  node->next = nullptr;
  --table->count;
  return NRT_SUCCESS;
}

size_t ht_count(const ht_t *table) {
  return table->count;
}

void ht_for_each(ht_t *table, bool (*callback)(ht_node_t *node, void *user), void *user) {
  for (size_t i = 0; i < table->bucket_count; ++i) {
    for (ht_node_t *node = first_node(&table->buckets[i]); node != nullptr;) {
      ht_node_t *next = node->next;  // read first: the callback may free the node
      if (!callback(node, user))
        return;
      node = next;
    }
  }
}

void ht_destroy(ht_t *table) {
  if (table == nullptr)
    return;
  if (table->free_cb != nullptr) {
    ht_for_each(
        table,
        [](ht_node_t *node, void *user) {
          reinterpret_cast<ht_free_cb_t>(user)(node);
          return true;
        },
        reinterpret_cast<void *>(table->free_cb));
  }
  free(table->buckets);
  free(table);
}
