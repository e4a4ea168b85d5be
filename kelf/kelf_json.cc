// SPDX-License-Identifier: Apache-2.0
// The kelf member: subgraphs and target (neff-format.md 3.2).
#include "kelf/mla_resources.h"

namespace {

using simdjson::dom::element;

// One subgraph, or one per physical core of a logical core.
constexpr size_t MAX_GRAPHS = 2;

bool target_by_name(std::string_view name, uint32_t *out) {
  struct entry {
    std::string_view name;
    uint32_t target;
  };
  static constexpr entry NAMES[] = {
      {"", KELF_TARGET_SUNDA},     {"sunda", KELF_TARGET_SUNDA},
      {"v2", KELF_TARGET_SUNDA},   {"cayman", KELF_TARGET_CAYMAN},
      {"v3", KELF_TARGET_CAYMAN},  {"mariana", KELF_TARGET_MARIANA},
      {"v4", KELF_TARGET_MARIANA}, {"*", KBIN_TARGET_ANY},
  };
  for (const entry &e : NAMES) {
    if (e.name == name) {
      *out = e.target;
      return true;
    }
  }
  return false;
}

NRT_STATUS parse_graph(element value, const json_place &place, std::vector<kelf_graph> *graphs) {
  json_field f[] = {{"name"}, {"definition"}};
  std::string_view name, definition;
  NRT_STATUS status = json_pick(value, place, f);
  if (status == NRT_SUCCESS)
    status = json_string(f[0], JSON_REQUIRED, place, &name);
  if (status == NRT_SUCCESS)
    status = json_string(f[1], JSON_REQUIRED, place, &definition);
  if (status != NRT_SUCCESS)
    return status;
  if (definition.starts_with("./"))  // as members are named
    definition.remove_prefix(2);
  // Two cores may run the same definition, but their names tell them apart in logs and tools.
  for (const kelf_graph &other : *graphs) {
    if (other.name == name)
      return json_place(place, "name").fail("\"{}\" given twice", json_excerpt(name));
  }
  graphs->push_back({std::string(name), std::string(definition)});
  return NRT_SUCCESS;
}

NRT_STATUS parse_graphs(const json_field &field, const json_place &root,
                        std::vector<kelf_graph> *graphs) {
  if (!field.present)
    return json_missing(field, root);
  json_place place(root, field.key);
  simdjson::dom::array array;
  NRT_STATUS status = json_to_array(field.value, place, &array);
  if (status != NRT_SUCCESS)
    return status;
  if (array.size() == 0 || array.size() > MAX_GRAPHS)
    return place.fail("{} subgraphs, must be 1 to {}", array.size(), MAX_GRAPHS);
  json_steps steps(root.findings());
  size_t index = 0;
  for (element item : array) {
    if (steps.stop(parse_graph(item, json_place(place, index++), graphs)))
      break;
  }
  return steps.status();
}

}  // namespace

NRT_STATUS kelf_json_parse(const neff &source, finding_sink &findings, kelf_nn_t *nn,
                           std::vector<kelf_graph> *graphs) {
  json_place root(nn->kelf_member, findings);
  const std::span<const uint8_t> *member = source.find(nn->kelf_member);
  if (!member)
    return root.fail("no such member (named by attrs.kelf of neff.json)");
  json_document document;
  json_field f[] = {{"graphs"}, {"version"}, {"target"}};
  NRT_STATUS status = json_parse(*member, root, &document);
  if (status == NRT_SUCCESS)
    status = json_pick(document.root, root, f);
  if (status != NRT_SUCCESS)
    return status;
  json_steps steps(findings);
  std::string_view version, target;
  status = json_string(f[1], JSON_REQUIRED, root, &version);
  if (status == NRT_SUCCESS && version.find('.') == std::string_view::npos)
    status = json_place(root, "version").fail("\"{}\" has no dot", json_excerpt(version));
  if (steps.stop(status))
    return steps.status();
  status = json_string(f[2], JSON_OPTIONAL, root, &target);
  if (status == NRT_SUCCESS && !target_by_name(target, &nn->target))
    status = json_place(root, "target")
                 .fail("unknown target \"{}\" (sunda, v2, cayman, v3, mariana, v4, *)",
                       json_excerpt(target));
  nn->target_name = target;
  if (steps.stop(status))
    return steps.status();
  (void)steps.stop(parse_graphs(f[0], root, graphs));
  return steps.status();
}
