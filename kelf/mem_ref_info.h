// SPDX-License-Identifier: Apache-2.0
// Symbol table of one subgraph's variables while it is lowered (mem-ref.md 6).
#pragma once

#include <map>
#include <memory>
#include <string>

#include "kelf/mem_ref.h"

class mem_ref_info {
 public:
  mem_ref_info() = default;
  mem_ref_info(const mem_ref_info &) = delete;
  mem_ref_info &operator=(const mem_ref_info &) = delete;
  ~mem_ref_info();

  enum class existing { none, same, conflict };

  // `same`: this name and id are known already. `conflict`: only one of them is, or they belong to
  // two different entries; then *other_name / *other_id name the entry that is in the way.
  existing check_var_exists(const std::string &name, uint32_t var_id, std::string *other_name,
                            uint32_t *other_id) const;

  // Fills all three maps and takes the object over.
  void add_var_to_lookup_maps(std::string name, uint32_t var_id, std::unique_ptr<mem_ref> object);

  std::map<std::string, uint32_t> name_to_var_id;
  std::map<uint32_t, std::string> var_id_to_name;
  std::map<uint32_t, mem_ref *> var_id_to_mem_refs;  // owns
};
static_assert(sizeof(mem_ref_info) == 144);
