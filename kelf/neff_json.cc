// SPDX-License-Identifier: Apache-2.0
// The host graph: I/O tensors by name and the kelf member's name (neff-format.md 3.1).
#include <algorithm>
#include <map>

#include "base/checked.h"
#include "kelf/mla_resources.h"

namespace {

using simdjson::dom::array;
using simdjson::dom::element;

constexpr size_t MAX_TENSOR_DIMS = 32;

struct io_dtype {
  std::string_view name;
  uint32_t dtype;  // nrt_dtype_t
  uint32_t bytes;
};

constexpr io_dtype IO_DTYPES[] = {
    {"uint64", 1, 8}, {"int8", 2, 1},     {"uint8", 3, 1},   {"int16", 4, 2},
    {"uint16", 5, 2}, {"bfloat16", 6, 2}, {"float16", 7, 2}, {"int32", 8, 4},
    {"uint32", 9, 4}, {"float32", 10, 4}, {"int64", 12, 8},
};

// The parts of the graph that describe tensors, with their places.
struct graph_view {
  std::vector<element> nodes;
  std::vector<uint64_t> row_ptr;
  std::vector<element> shapes;
  std::vector<element> dtypes;
  json_place nodes_at, row_ptr_at, shapes_at, dtypes_at;
};

NRT_STATUS read_elements(const json_field &field, const json_place &place,
                         std::vector<element> *out) {
  if (!field.present)
    return json_missing(field, place);
  array items;
  NRT_STATUS status = json_to_array(field.value, json_place(place, field.key), &items);
  if (status == NRT_SUCCESS)
    out->assign(items.begin(), items.end());
  return status;
}

// A typed list of the graph's attrs: [type name, [values]].
NRT_STATUS read_typed_list(const json_field &field, const json_place &place,
                           std::vector<element> *out) {
  std::vector<element> pair;
  NRT_STATUS status = read_elements(field, place, &pair);
  if (status != NRT_SUCCESS)
    return status;
  json_place at(place, field.key);
  if (pair.size() != 2)
    return at.fail("has {} elements, must be [type, values]", pair.size());
  array items;
  status = json_to_array(pair[1], json_place(at, 1), &items);
  if (status == NRT_SUCCESS)
    out->assign(items.begin(), items.end());
  return status;
}

struct placed_tensor {
  kelf_io_tensor_t tensor;
  std::string place;
};

// Takes shape and type of entry `eid` and appends the tensor.
NRT_STATUS add_tensor(const graph_view &graph, std::string_view name, uint64_t eid,
                      const json_place &place, std::vector<placed_tensor> *list) {
  if (eid >= graph.shapes.size() || eid >= graph.dtypes.size())
    return place.fail("tensor \"{}\" has entry {}, there are {} shapes and {} types",
                      json_excerpt(name), eid, graph.shapes.size(), graph.dtypes.size());
  json_place shape_at(graph.shapes_at, eid);
  kelf_io_tensor_t tensor{};
  tensor.name = name;
  array dims;
  std::string_view dtype;
  NRT_STATUS status = json_no_nul(name, place);
  if (status == NRT_SUCCESS)
    status = json_to_array(graph.shapes[eid], shape_at, &dims);
  if (status == NRT_SUCCESS)
    status = json_to_string(graph.dtypes[eid], json_place(graph.dtypes_at, eid), &dtype);
  if (status != NRT_SUCCESS)
    return status;
  if (dims.size() > MAX_TENSOR_DIMS)
    return shape_at.fail("has {} dimensions, the limit is {}", dims.size(), MAX_TENSOR_DIMS);
  tensor.dtype_name = dtype;
  tensor.size = 1;  // unknown types count one byte per element
  for (const io_dtype &known : IO_DTYPES) {
    if (known.name == dtype) {
      tensor.dtype = known.dtype;
      tensor.size = known.bytes;
    }
  }
  for (element item : dims) {
    uint64_t dim = 0;
    status = json_to_uint(item, json_place(shape_at, tensor.shape.size()), UINT64_MAX, &dim);
    if (status != NRT_SUCCESS)
      return status;
    tensor.shape.push_back(dim);
    if (!checked_mul(tensor.size, dim, &tensor.size))
      return shape_at.fail("bytes of tensor \"{}\" pass 64 bits", json_excerpt(name));
  }
  list->push_back({std::move(tensor), place.text()});
  return NRT_SUCCESS;
}

// By name, each name once. Each physical core lists the outputs: same name, same tensor.
NRT_STATUS sort_tensors(std::vector<placed_tensor> &&list, finding_sink &findings,
                        std::vector<kelf_io_tensor_t> *out) {
  std::stable_sort(list.begin(), list.end(), [](const placed_tensor &a, const placed_tensor &b) {
    return a.tensor.name < b.tensor.name;
  });
  json_steps steps(findings);
  for (placed_tensor &item : list) {
    kelf_io_tensor_t &tensor = item.tensor;
    if (out->empty() || out->back().name != tensor.name) {
      out->push_back(std::move(tensor));
      continue;
    }
    const kelf_io_tensor_t &first = out->back();
    if ((first.size != tensor.size || first.dtype_name != tensor.dtype_name ||
         first.shape != tensor.shape) &&
        steps.stop(findings.add(NRT_INVALID, std::move(item.place),
                                "tensor \"{}\" appears twice: {} bytes of {}, {} bytes of {}",
                                json_excerpt(tensor.name), first.size,
                                json_excerpt(first.dtype_name), tensor.size,
                                json_excerpt(tensor.dtype_name))))
      break;
  }
  return steps.status();
}

// Node `index` with its first entry; bounds checked.
NRT_STATUS get_node(const graph_view &graph, uint64_t index, const json_place &place, element *node,
                    uint64_t *first_eid) {
  if (index >= graph.nodes.size())
    return place.fail("names node {}, there are {}", index, graph.nodes.size());
  if (index >= graph.row_ptr.size())
    return graph.row_ptr_at.fail("has {} elements, node {} needs one", graph.row_ptr.size(), index);
  *node = graph.nodes[index];
  *first_eid = graph.row_ptr[index];
  return NRT_SUCCESS;
}

NRT_STATUS read_inputs(const graph_view &graph, const json_field &arg_nodes, const json_place &root,
                       std::vector<kelf_io_tensor_t> *out) {
  std::vector<uint64_t> indices;
  NRT_STATUS status = json_uint_list(arg_nodes, JSON_REQUIRED, root, UINT64_MAX, &indices);
  if (status != NRT_SUCCESS)
    return status;
  json_place args_at(root, arg_nodes.key);
  json_steps steps(root.findings());
  std::vector<placed_tensor> tensors;
  for (size_t i = 0; i < indices.size(); i++) {
    json_place at(args_at, i);
    element node;
    uint64_t eid = 0;
    std::string_view name;
    json_field f[] = {{"name"}};
    status = get_node(graph, indices[i], at, &node, &eid);
    if (status == NRT_SUCCESS && !node.is<simdjson::dom::object>())
      continue;  // find_kelf_member saw every node and has reported it
    if (status == NRT_SUCCESS) {
      json_place node_at(graph.nodes_at, indices[i]);
      status = json_pick(node, node_at, f);
      if (status == NRT_SUCCESS)
        status = json_string(f[0], JSON_REQUIRED, node_at, &name);
    }
    if (status == NRT_SUCCESS)
      status = add_tensor(graph, name, eid, at, &tensors);
    if (steps.stop(status))
      return steps.status();
  }
  (void)steps.stop(sort_tensors(std::move(tensors), root.findings(), out));
  return steps.status();
}

// Output names per node: read once, however many heads a node has.
using output_names = std::map<uint64_t, std::vector<std::string>>;

NRT_STATUS read_one_head(const graph_view &graph, element head, const json_place &at,
                         output_names &cache, std::vector<placed_tensor> *out) {
  array parts;
  NRT_STATUS status = json_to_array(head, at, &parts);
  if (status != NRT_SUCCESS)
    return status;
  if (parts.size() < 2)
    return at.fail("has {} elements, must be [node, output, version]", parts.size());
  uint64_t index = 0, output = 0, eid = 0;
  element node;
  status = json_to_uint(parts.at(0).value_unsafe(), json_place(at, size_t{0}), UINT64_MAX, &index);
  if (status == NRT_SUCCESS)
    status =
        json_to_uint(parts.at(1).value_unsafe(), json_place(at, size_t{1}), UINT64_MAX, &output);
  if (status == NRT_SUCCESS)
    status = get_node(graph, index, at, &node, &eid);
  if (status != NRT_SUCCESS)
    return status;
  auto [cached, added] = cache.try_emplace(index);
  std::vector<std::string> &names = cached->second;
  if (added) {
    json_place node_at(graph.nodes_at, index);
    json_field f[] = {{"output_names"}};
    status = json_pick(node, node_at, f);
    if (status == NRT_SUCCESS)
      status = json_string_list(f[0], JSON_REQUIRED, node_at, &names);
    if (status != NRT_SUCCESS)
      return status;
  }
  if (output >= names.size())
    return at.fail("names output {} of node {}, which has {}", output, index, names.size());
  if (!checked_add(eid, output, &eid))
    return graph.row_ptr_at.fail("entry {} of node {} passes 64 bits", eid, index);
  return add_tensor(graph, names[output], eid, at, out);
}

NRT_STATUS read_outputs(const graph_view &graph, const json_field &heads, const json_place &root,
                        std::vector<kelf_io_tensor_t> *out) {
  std::vector<element> items;
  NRT_STATUS status = read_elements(heads, root, &items);
  if (status != NRT_SUCCESS)
    return status;
  json_place heads_at(root, heads.key);
  if (items.empty())
    return heads_at.fail("is empty, a model needs at least one output");
  json_steps steps(root.findings());
  std::vector<placed_tensor> tensors;
  output_names cache;
  for (size_t i = 0; i < items.size(); i++) {
    if (steps.stop(read_one_head(graph, items[i], json_place(heads_at, i), cache, &tensors)))
      return steps.status();
  }
  (void)steps.stop(sort_tensors(std::move(tensors), root.findings(), out));
  return steps.status();
}

// A node that carries the device program; NULL name when it is another one.
NRT_STATUS read_kelf_name(element node, const json_place &place, bool *is_kelf,
                          std::string_view *out) {
  json_field f[] = {{"op"}, {"attrs"}};
  std::string_view op, func;
  NRT_STATUS status = json_pick(node, place, f);
  if (status == NRT_SUCCESS)
    status = json_string(f[0], JSON_OPTIONAL, place, &op);
  *is_kelf = op == "__kelf";
  if (status != NRT_SUCCESS || (!f[1].present && !*is_kelf))
    return status;
  if (!f[1].present)
    return json_missing(f[1], place);
  json_place at(place, "attrs");
  json_field a[] = {{"func_name"}, {"kelf"}};
  status = json_pick(f[1].value, at, a);
  if (status == NRT_SUCCESS && !*is_kelf) {
    status = json_string(a[0], JSON_OPTIONAL, at, &func);
    *is_kelf = func == "__kelf";
  }
  if (status == NRT_SUCCESS && *is_kelf)
    status = json_string(a[1], JSON_REQUIRED, at, out);
  return status;
}

NRT_STATUS find_kelf_member(const graph_view &graph, std::string *out) {
  bool found = false;
  json_steps steps(graph.nodes_at.findings());
  for (size_t i = 0; i < graph.nodes.size(); i++) {
    json_place at(graph.nodes_at, i);
    bool is_kelf = false;
    std::string_view name;
    NRT_STATUS status = read_kelf_name(graph.nodes[i], at, &is_kelf, &name);
    if (status == NRT_SUCCESS && is_kelf && found && *out != name)
      status = at.fail("second __kelf node, for \"{}\" besides \"{}\"", json_excerpt(name),
                       json_excerpt(*out));
    else if (status == NRT_SUCCESS && is_kelf)
      *out = name;
    found |= is_kelf;
    if (steps.stop(status))
      return steps.status();
  }
  if (!found)
    return graph.nodes_at.fail("none of the {} nodes has func_name __kelf", graph.nodes.size());
  if (out->starts_with("./"))  // as members are named
    out->erase(0, 2);
  return steps.status();
}

}  // namespace

NRT_STATUS neff_json_parse(const neff &source, finding_sink &findings, kelf_nn_t *nn) {
  std::string_view path = "neff.json";
  const std::span<const uint8_t> *member = source.find(path);
  if (!member) {
    path = "kelp.json";  // its older name
    member = source.find(path);
  }
  if (!member)
    return findings.add(NRT_INVALID, "neff.json", "no such member, nor kelp.json");
  json_place root(path, findings);
  json_document document;
  json_field f[] = {{"nodes"}, {"arg_nodes"}, {"heads"}, {"node_row_ptr"}, {"attrs"}};
  NRT_STATUS status = json_parse(*member, root, &document);
  if (status == NRT_SUCCESS)
    status = json_pick(document.root, root, f);
  if (status != NRT_SUCCESS)
    return status;
  json_place attrs_at(root, "attrs"), shape_list_at(attrs_at, "shape"),
      dtype_list_at(attrs_at, "dltype");
  graph_view graph{{},
                   {},
                   {},
                   {},
                   json_place(root, "nodes"),
                   json_place(root, "node_row_ptr"),
                   json_place(shape_list_at, 1),
                   json_place(dtype_list_at, 1)};
  json_steps steps(findings);
  status = read_elements(f[0], root, &graph.nodes);
  if (status != NRT_SUCCESS)
    return status;
  if (steps.stop(find_kelf_member(graph, &nn->kelf_member)))
    return steps.status();
  // Tensors need all four tables.
  json_field a[] = {{"shape"}, {"dltype"}};
  status = json_uint_list(f[3], JSON_REQUIRED, root, UINT64_MAX, &graph.row_ptr);
  if (status == NRT_SUCCESS && !f[4].present)
    status = json_missing(f[4], root);
  if (status == NRT_SUCCESS)
    status = json_pick(f[4].value, attrs_at, a);
  if (status == NRT_SUCCESS)
    status = read_typed_list(a[0], attrs_at, &graph.shapes);
  if (status == NRT_SUCCESS)
    status = read_typed_list(a[1], attrs_at, &graph.dtypes);
  if (status != NRT_SUCCESS) {
    (void)steps.stop(status);
    return steps.status();
  }
  if (steps.stop(read_inputs(graph, f[1], root, &nn->inputs)))
    return steps.status();
  (void)steps.stop(read_outputs(graph, f[2], root, &nn->outputs));
  return steps.status();
}
