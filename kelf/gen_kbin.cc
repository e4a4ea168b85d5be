// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <cstring>

#include "kelf/mla_resources.h"

// Record number var_id receives the variable with that id: the ids are dense by now. Variables
// leave the symbol table as they are written: what belongs to one lies together in memory, and the
// records' names take the place of the table's.
NRT_STATUS gen_kbin_mem_ref_set(mla_resources &res, const json_place &place) {
  auto &objects = res.mi.var_id_to_mem_refs;
  auto &names = res.mi.var_id_to_name;  // same ids in the same order
  auto count = static_cast<uint32_t>(objects.size());
  kbin_mem_ref_set_t *set = kbin_mem_ref_set_alloc(count);
  if (!set)
    return place.findings().add(NRT_RESOURCE, place.text(), "no memory for {} variable records",
                                count);
  res.kbin->mem_ref_set = set;  // owns it from here, whatever happens
  set->local_scratchpad_size = res.main_end;
  set->shared_scratchpad_size = res.shared_end;
  while (!objects.empty()) {
    auto entry = objects.begin();
    auto name = names.begin();
    mem_ref *object = entry->second;
    json_place at(place, name->second);
    kbin_mem_ref &record = set->mem[entry->first];
    NRT_STATUS status = object->dump(record);
    if (status == NRT_INVALID)
      return at.fail("over the caps of a record: dtype {}, {} dimensions",
                     json_excerpt(object->dtype), object->shape.size());
    if (status == NRT_SUCCESS) {
      record.name = strdup(name->second.c_str());
      if (!record.name)
        status = NRT_RESOURCE;
    }
    if (status != NRT_SUCCESS)
      return place.findings().add(status, at.text(), "no memory for a variable record");
    delete object;
    objects.erase(entry);
    names.erase(name);
  }
  res.kbin->num_inputs = res.num_inputs;
  res.kbin->num_outputs = res.num_outputs;
  return NRT_SUCCESS;
}
