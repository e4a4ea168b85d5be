// SPDX-License-Identifier: Apache-2.0
#include "kelf/mem_ref_info.h"

mem_ref_info::~mem_ref_info() {
  for (auto &[id, object] : var_id_to_mem_refs)
    delete object;
}

mem_ref_info::existing mem_ref_info::check_var_exists(const std::string &name, uint32_t var_id,
                                                      std::string *other_name,
                                                      uint32_t *other_id) const {
  // Writers sort names, so that most are new and stand behind all others.
  auto by_name = name_to_var_id.empty() || name_to_var_id.rbegin()->first < name
                     ? name_to_var_id.end()
                     : name_to_var_id.find(name);
  auto by_id = var_id_to_name.empty() || var_id_to_name.rbegin()->first < var_id
                   ? var_id_to_name.end()
                   : var_id_to_name.find(var_id);
  if (by_name == name_to_var_id.end() && by_id == var_id_to_name.end())
    return existing::none;
  if (by_name != name_to_var_id.end() && by_name->second == var_id)
    return existing::same;
  if (by_name != name_to_var_id.end()) {
    *other_name = by_name->first;
    *other_id = by_name->second;
  } else {
    *other_name = by_id->second;
    *other_id = by_id->first;
  }
  return existing::conflict;
}

void mem_ref_info::add_var_to_lookup_maps(std::string name, uint32_t var_id,
                                          std::unique_ptr<mem_ref> object) {
  // The owning map first: if another insertion runs out of memory the object is not lost.
  // Ids mostly come in order: the end is the best guess for all three.
  size_t before = var_id_to_mem_refs.size();
  auto slot = var_id_to_mem_refs.try_emplace(var_id_to_mem_refs.end(), var_id, nullptr);
  if (var_id_to_mem_refs.size() == before)
    return;
  slot->second = object.release();
  var_id_to_name.emplace_hint(var_id_to_name.end(), var_id, name);
  name_to_var_id.emplace_hint(name_to_var_id.end(), std::move(name), var_id);
}
