// SPDX-License-Identifier: Apache-2.0
// One subgraph: def.json and all it names (neff-format.md 3.3).
#include <new>

#include "kelf/mla_resources.h"

namespace {

enum def_key : size_t {
  KEY_VAR,
  KEY_DMA_QUEUE,
  KEY_PE,
  KEY_ACT,
  KEY_POOL,
  KEY_DVE,
  KEY_SP,
  KEY_RESERVATION,
  KEY_CC_STREAMS,
  KEY_NUM_STREAMS,
  KEY_FP8,
  KEY_REPLICA_GROUPS,
  KEY_SRC_TARGET,
  KEY_UCODE_LIB,
  KEY_EXT_ISA,
  KEY_DMA,
  KEY_COUNT,
};

NRT_STATUS parse_variables(mla_resources &res, const json_field &field, const json_place &root) {
  if (!field.present)
    return json_place(root, field.key).fail("key is missing: subgraph has no outputs");
  json_place place(root, field.key);
  simdjson::dom::object vars;
  NRT_STATUS status = json_to_object(field.value, place, &vars);
  if (status != NRT_SUCCESS) {
    res.vars_complete = false;
    return status;
  }
  json_steps steps(root.findings());
  for (simdjson::dom::key_value_pair item : vars) {
    status = parse_one_variable(res, item.key, item.value, json_place(place, item.key));
    if (status != NRT_SUCCESS)
      res.vars_complete = false;
    if (steps.stop(status))
      return steps.status();
  }
  (void)steps.stop(def_vars_check(res, place));
  return steps.status();
}

NRT_STATUS parse_streams(mla_resources &res, const json_field &block, const json_field &top,
                         const json_place &root) {
  uint64_t *out = &res.kbin->num_streams;
  if (!block.present)
    return json_uint(top, JSON_OPTIONAL, root, UINT64_MAX, out);
  json_place place(root, block.key);
  json_field f[] = {{"num_streams"}};
  NRT_STATUS status = json_pick(block.value, place, f);
  return status == NRT_SUCCESS ? json_uint(f[0], JSON_OPTIONAL, place, UINT64_MAX, out) : status;
}

NRT_STATUS parse_engines(mla_resources &res, const json_field *fields, const json_place &root) {
  json_steps steps(root.findings());
  for (uint32_t i = 0; i < AL_HAL_TPB_ENG_TYPE_NUM; i++) {
    auto type = static_cast<al_hal_tpb_eng_type>(i);
    kbin_engine_t &engine = res.kbin->engines.emplace_back();
    engine.eng_type = type;
    // A subgraph without the engine gets an empty stream.
    const json_field &field = fields[KEY_PE + i];
    std::string_view file;
    NRT_STATUS status = json_string(field, JSON_OPTIONAL, root, &file);
    if (status == NRT_SUCCESS && field.present)
      status = engine_json_parse(res, type, file, json_place(root, field.key));
    if (steps.stop(status))
      break;
  }
  return steps.status();
}

// Blocks independent of each other; goes on past failures in collect mode.
NRT_STATUS parse_all(mla_resources &res, const json_field *f, const json_place &root) {
  json_steps steps(root.findings());
  kbin_t &kbin = *res.kbin;
  auto at = [&](size_t key) { return json_place(root, f[key].key); };
  if (steps.stop(parse_variables(res, f[KEY_VAR], root)))
    return steps.status();
  if (f[KEY_DMA_QUEUE].present &&
      steps.stop(def_queues_parse(res, f[KEY_DMA_QUEUE].value, at(KEY_DMA_QUEUE))))
    return steps.status();
  if (steps.stop(def_reservation_parse(res, f[KEY_RESERVATION], root)) ||
      steps.stop(parse_streams(res, f[KEY_CC_STREAMS], f[KEY_NUM_STREAMS], root)))
    return steps.status();
  if (f[KEY_FP8].present && steps.stop(def_fp8_parse(res, f[KEY_FP8].value, at(KEY_FP8))))
    return steps.status();
  if (f[KEY_REPLICA_GROUPS].present &&
      steps.stop(def_groups_parse(f[KEY_REPLICA_GROUPS].value, at(KEY_REPLICA_GROUPS),
                                  &kbin.replica_groups)))
    return steps.status();
  if (f[KEY_SRC_TARGET].present &&
      steps.stop(
          def_groups_parse(f[KEY_SRC_TARGET].value, at(KEY_SRC_TARGET), &kbin.src_target_pairs)))
    return steps.status();
  if (f[KEY_UCODE_LIB].present &&
      steps.stop(def_ucode_parse(res, f[KEY_UCODE_LIB].value, at(KEY_UCODE_LIB))))
    return steps.status();
  if (f[KEY_EXT_ISA].present &&
      steps.stop(def_ext_isa_check(f[KEY_EXT_ISA].value, at(KEY_EXT_ISA))))
    return steps.status();
  if (steps.stop(parse_engines(res, f, root)))
    return steps.status();
  if (f[KEY_DMA].present)
    (void)steps.stop(dma_blocks_parse(res, f[KEY_DMA].value, AL_HAL_TPB_ENG_TYPE_NUM, at(KEY_DMA)));
  return steps.status();
}

NRT_STATUS load(std::shared_ptr<const neff> source, const std::string &sg_name,
                const std::string &definition, uint32_t target, const kelf_options &options,
                finding_sink &findings, std::unique_ptr<kbin_t> *out) {
  json_place root(definition, findings);
  if (target != KELF_TARGET_SUNDA && target != KELF_TARGET_CAYMAN &&
      target != KELF_TARGET_MARIANA && target != KBIN_TARGET_ANY)
    return root.fail("invalid target {}", target);
  const std::span<const uint8_t> *member = source->find(definition);
  if (!member)
    return root.fail("no such member (definition of subgraph \"{}\")", json_excerpt(sg_name));
  auto document = std::make_unique<json_document>();
  NRT_STATUS status = json_parse(*member, root, document.get());
  if (status != NRT_SUCCESS)
    return status;
  json_field f[KEY_COUNT] = {{"var"},
                             {"dma_queue"},
                             {"pe"},
                             {"act"},
                             {"pool"},
                             {"dve"},
                             {"sp"},
                             {"runtime_statebuffer_reservation"},
                             {"cc_streams"},
                             {"num_streams"},
                             {"fp8_conversion_config"},
                             {"replica_groups"},
                             {"src_target_pairs"},
                             {"ucode_lib"},
                             {"ext_isa_ucode_lib_def"},
                             {"dma"}};
  status = json_pick(document->root, root, f);
  if (status != NRT_SUCCESS)
    return status;

  auto kbin = std::make_unique<kbin_t>();
  kbin->sg_name = sg_name;
  kbin->definition = definition;
  kbin->source = source;
  kbin->target = target;
  mla_resources res;
  res.source = std::move(source);
  res.options = &options;
  res.definition = definition;
  res.directory = definition.substr(0, definition.rfind('/') + 1);  // empty without a slash
  res.target = target;
  res.kbin = kbin.get();
  status = parse_all(res, f, root);
  document.reset();  // the records need the room
  if (status == NRT_SUCCESS)
    status = gen_kbin_mem_ref_set(res, json_place(root, "var"));
  if (status == NRT_SUCCESS)
    *out = std::move(kbin);
  return status;
}

}  // namespace

NRT_STATUS kelf_load_from_neff(std::shared_ptr<const neff> source, const std::string &sg_name,
                               const std::string &definition, uint32_t target,
                               const kelf_options &options, finding_sink &findings,
                               std::unique_ptr<kbin_t> *out) {
  try {
    return load(std::move(source), sg_name, definition, target, options, findings, out);
  } catch (const std::bad_alloc &) {
    return findings.add(NRT_RESOURCE, definition, "no memory to lower the subgraph");
  }
}
