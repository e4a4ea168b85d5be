// SPDX-License-Identifier: Apache-2.0
// Engine JSON and the tables it names (neff-format.md 3.8, 3.9).
#include "kelf/mla_resources.h"

namespace {

using simdjson::dom::element;

NRT_STATUS read_instr(const mla_resources &res, const json_field &field, const json_place &place,
                      kbin_engine_t *engine) {
  if (!field.present)
    return json_missing(field, place);
  std::string_view file;
  if (field.value.get(file))
    return NRT_SUCCESS;  // synthetic files write [] for "no stream"
  json_place at(place, field.key);
  NRT_STATUS status = mla_need_member(res, file, at, &engine->instr);
  if (status != NRT_SUCCESS)
    return status;
  if (engine->instr.size() > UINT32_MAX)
    return at.fail("stream of {} bytes, the limit is {}", engine->instr.size(), UINT32_MAX);
  engine->instr_member = res.directory + std::string(file);
  engine->ninstr = static_cast<uint32_t>(engine->instr.size() / KELF_INSTR_BYTES);
  return NRT_SUCCESS;
}

NRT_STATUS parse_dve_config(mla_resources &res, element value, const json_place &place) {
  json_field f[] = {{"opcode_table"},
                    {"datapath_table"},
                    {"control_table"},
                    {"control_fast_table"},
                    {"control_slow_table"}};
  kbin_dve_config_t config{};
  NRT_STATUS status = json_pick(value, place, f);
  if (status == NRT_SUCCESS)
    status = mla_read_member(res, f[0], JSON_REQUIRED, place, &config.opcode_table);
  if (status == NRT_SUCCESS)
    status = mla_read_member(res, f[1], JSON_REQUIRED, place, &config.datapath_table);
  if (status == NRT_SUCCESS)
    status = mla_read_member(res, f[2], JSON_OPTIONAL, place, &config.control_table);
  // Either one control table or the pair.
  json_presence pair = f[2].present ? JSON_OPTIONAL : JSON_REQUIRED;
  if (status == NRT_SUCCESS)
    status = mla_read_member(res, f[3], pair, place, &config.control_fast_table);
  if (status == NRT_SUCCESS)
    status = mla_read_member(res, f[4], pair, place, &config.control_slow_table);
  if (status == NRT_SUCCESS)
    res.kbin->dve_config.push_back(config);
  return status;
}

NRT_STATUS parse_dve_configs(mla_resources &res, const json_field &field, const json_place &place) {
  if (!field.present)
    return NRT_SUCCESS;
  json_place here(place, field.key);
  simdjson::dom::array array;
  NRT_STATUS status = json_to_array(field.value, here, &array);
  if (status != NRT_SUCCESS)
    return status;
  json_steps steps(place.findings());
  size_t index = 0;
  for (element item : array) {
    if (steps.stop(parse_dve_config(res, item, json_place(here, index++))))
      break;
  }
  return steps.status();
}

}  // namespace

NRT_STATUS mla_need_member(const mla_resources &res, std::string_view file, const json_place &place,
                           std::span<const uint8_t> *out) {
  const std::span<const uint8_t> *member = res.find_member(file);
  if (!member)
    return place.fail("no member \"{}{}\"", res.directory, json_excerpt(file));
  *out = *member;
  return NRT_SUCCESS;
}

NRT_STATUS mla_read_member(const mla_resources &res, const json_field &field,
                           json_presence presence, const json_place &place,
                           std::span<const uint8_t> *out) {
  std::string_view file;
  NRT_STATUS status = json_string(field, presence, place, &file);
  if (status != NRT_SUCCESS || !field.present)
    return status;
  return mla_need_member(res, file, json_place(place, field.key), out);
}

bool kelf_engine_by_name(std::string_view name, al_hal_tpb_eng_type *out) {
  for (uint32_t i = 0; i < AL_HAL_TPB_ENG_TYPE_NUM; i++) {
    auto type = static_cast<al_hal_tpb_eng_type>(i);
    if (name == kbin_engine_name(type)) {
      *out = type;
      return true;
    }
  }
  return false;
}

NRT_STATUS engine_json_parse(mla_resources &res, al_hal_tpb_eng_type type, std::string_view file,
                             const json_place &place) {
  std::span<const uint8_t> member;
  NRT_STATUS status = mla_need_member(res, file, place, &member);
  if (status != NRT_SUCCESS)
    return status;
  kbin_engine_t &engine = res.kbin->engines[type];
  engine.json_member = res.directory + std::string(file);
  json_place root(engine.json_member, place.findings());
  json_document document;
  json_field f[] = {
      {"instr"}, {"dma"}, {"activation_function_sets"}, {"act_semaphore"}, {"dve_tables"}};
  status = json_parse(member, root, &document);
  if (status == NRT_SUCCESS)
    status = json_pick(document.root, root, f);
  if (status != NRT_SUCCESS)
    return status;
  json_steps steps(place.findings());
  if (steps.stop(read_instr(res, f[0], root, &engine)))
    return steps.status();
  if (f[1].present && steps.stop(dma_blocks_parse(res, f[1].value, type, json_place(root, "dma"))))
    return steps.status();
  if (type == AL_HAL_TPB_ENG_TYPE_ACT) {
    if (steps.stop(act_sets_parse(res, f[2], root)) ||
        steps.stop(json_uint32(f[3], JSON_OPTIONAL, root, KELF_NUM_SEMAPHORES - 1,
                               &res.kbin->act_semaphore)))
      return steps.status();
  }
  if (type == AL_HAL_TPB_ENG_TYPE_DVE)
    (void)steps.stop(parse_dve_configs(res, f[4], root));
  return steps.status();
}
