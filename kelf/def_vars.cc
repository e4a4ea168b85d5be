// SPDX-License-Identifier: Apache-2.0
// Variables of def.json (neff-format.md 3.4, mem-ref.md 7).
#include <algorithm>
#include <array>

#include "base/checked.h"
#include "kelf/mla_resources.h"

namespace {

using simdjson::dom::element;

enum var_key : size_t {
  KEY_TYPE,
  KEY_VAR_ID,
  KEY_SIZE,
  KEY_ALIGNMENT,
  KEY_DTYPE,
  KEY_SHAPE,
  KEY_OFFSET,
  KEY_BACKING_BUF,
  KEY_FABRIC_PATH,
  KEY_FILE_NAME,
  KEY_REFERENCED,
  KEY_LIST,
  KEY_PREFIX,
  KEY_PIPE,
  KEY_REMOTE_SG,
  KEY_REMOTE_VAR,
  KEY_COUNT,
};

constexpr std::array<std::string_view, KEY_COUNT> VAR_KEYS = {"type",
                                                              "var_id",
                                                              "size",
                                                              "alignment",
                                                              "dtype",
                                                              "shape",
                                                              "backing_variable_off",
                                                              "backing_buf",
                                                              "fabric_path",
                                                              "file_name",
                                                              "referenced_var_id",
                                                              "list",
                                                              "prefix",
                                                              "pipe",
                                                              "remote_sg",
                                                              "remote_var"};

struct var_type {
  std::string_view name;
  kbin_mr_type_t kind;
};

constexpr var_type VAR_TYPES[] = {
    {"virtual", MR_VIRTUAL_TMP_BUF},
    {"file", MR_BUFFER},
    {"input", MR_INPUT},
    {"output", MR_OUTPUT},
    {"tmp-buf", MR_TMP_BUF},
    {"state-buffer", MR_SB},
    {"dge-table", MR_PTR_TABLE},
    {"pointer", MR_PTR},
    {"list", MR_LIST},
    {"remote", MR_REMOTE},
    {"file-staged", MR_BUFFER_STAGED},
};

// An entry while it is read.
struct var_entry {
  mla_resources &res;
  const json_place &place;
  std::array<json_field, KEY_COUNT> fields;
  kbin_mr_type_t kind = MR_INVALID;
  uint32_t var_id = 0;
  uint32_t alignment = 0;
  std::string dtype;
  std::vector<uint64_t> shape;

  const json_field &field(var_key key) const { return fields[key]; }
  json_place at(var_key key) const { return {place, VAR_KEYS[key]}; }
};

NRT_STATUS read_dtype(var_entry &e) {
  std::string_view dtype;
  NRT_STATUS status = json_string(e.field(KEY_DTYPE), JSON_OPTIONAL, e.place, &dtype);
  if (status != NRT_SUCCESS)
    return status;
  if (dtype.size() >= KBIN_DTYPE_MAX)
    return e.at(KEY_DTYPE).fail("\"{}\" has {} characters, the limit is {}", json_excerpt(dtype),
                                dtype.size(), KBIN_DTYPE_MAX - 1);
  status = json_no_nul(dtype, e.at(KEY_DTYPE));
  if (status == NRT_SUCCESS)
    e.dtype = dtype;
  return status;
}

NRT_STATUS read_shape(var_entry &e) {
  NRT_STATUS status =
      json_uint_list(e.field(KEY_SHAPE), JSON_OPTIONAL, e.place, UINT64_MAX, &e.shape);
  if (status != NRT_SUCCESS)
    return status;
  if (e.shape.size() > KBIN_SHAPE_MAX)
    return e.at(KEY_SHAPE).fail("has {} dimensions, the limit is {}", e.shape.size(),
                                KBIN_SHAPE_MAX);
  return NRT_SUCCESS;
}

NRT_STATUS read_alignment(var_entry &e) {
  uint64_t alignment = 0;
  NRT_STATUS status =
      json_uint(e.field(KEY_ALIGNMENT), JSON_OPTIONAL, e.place, UINT32_MAX, &alignment);
  if (status != NRT_SUCCESS)
    return status;
  if (alignment != 0 && !is_power_of_two(alignment))
    return e.at(KEY_ALIGNMENT).fail("is {}, must be a power of two or 0", alignment);
  e.alignment = static_cast<uint32_t>(alignment);
  return NRT_SUCCESS;
}

// A variable without bytes has no place a device could give it (README.md).
NRT_STATUS read_size(const var_entry &e, uint64_t *out) {
  NRT_STATUS status = json_uint(e.field(KEY_SIZE), JSON_REQUIRED, e.place, UINT64_MAX, out);
  if (status != NRT_SUCCESS)
    return status;
  if (*out == 0)
    return e.at(KEY_SIZE).fail("is 0, a variable needs at least one byte");
  return NRT_SUCCESS;
}

NRT_STATUS read_print_metadata(const var_entry &e, debug_tensor_md *out) {
  std::string_view prefix;
  NRT_STATUS status = json_string(e.field(KEY_PREFIX), JSON_OPTIONAL, e.place, &prefix);
  if (status != NRT_SUCCESS)
    return status;
  if (prefix.size() >= KBIN_PREFIX_MAX)
    return e.at(KEY_PREFIX)
        .fail("has {} characters, the limit is {}", prefix.size(), KBIN_PREFIX_MAX - 1);
  status = json_no_nul(prefix, e.at(KEY_PREFIX));
  if (status != NRT_SUCCESS)
    return status;
  out->prefix = prefix;
  return json_uint32(e.field(KEY_PIPE), JSON_OPTIONAL, e.place, UINT32_MAX, &out->pipe_id);
}

NRT_STATUS read_fabric_path(const var_entry &e, bool *alt) {
  std::string_view path = "main";
  NRT_STATUS status = json_string(e.field(KEY_FABRIC_PATH), JSON_OPTIONAL, e.place, &path);
  if (status != NRT_SUCCESS)
    return status;
  if (path != "main" && path != "alt")
    return e.at(KEY_FABRIC_PATH).fail("\"{}\" is neither \"main\" nor \"alt\"", json_excerpt(path));
  *alt = path == "alt";
  return NRT_SUCCESS;
}

NRT_STATUS read_backing_buf(const var_entry &e, kbin_backing_buf_t *out) {
  *out = KBIN_BACKING_BUF_LOCAL;
  std::string_view text;
  NRT_STATUS status = json_string(e.field(KEY_BACKING_BUF), JSON_OPTIONAL, e.place, &text);
  if (status != NRT_SUCCESS || !e.field(KEY_BACKING_BUF).present)
    return status;
  for (kbin_backing_buf_t buf : {KBIN_BACKING_BUF_LOCAL, KBIN_BACKING_BUF_SHARED,
                                 KBIN_BACKING_BUF_SHARDED, KBIN_BACKING_BUF_MAIN}) {
    if (text == kbin_backing_buf_name(buf)) {
      *out = buf;
      return NRT_SUCCESS;
    }
  }
  return e.at(KEY_BACKING_BUF)
      .fail("\"{}\" is none of local, main, shared, sharded", json_excerpt(text));
}

NRT_STATUS make_io(var_entry &e, std::unique_ptr<mem_ref> *out) {
  uint64_t size = 0;
  NRT_STATUS status = read_size(e, &size);
  if (status != NRT_SUCCESS)
    return status;
  *out = std::make_unique<mem_ref_io>(e.var_id, size, e.alignment, e.kind, std::move(e.dtype),
                                      std::move(e.shape));
  return NRT_SUCCESS;
}

NRT_STATUS make_tmp_buf(var_entry &e, std::unique_ptr<mem_ref> *out) {
  uint64_t size = 0;
  debug_tensor_md md;
  NRT_STATUS status = read_size(e, &size);
  if (status == NRT_SUCCESS)
    status = read_print_metadata(e, &md);
  if (status != NRT_SUCCESS)
    return status;
  *out = std::make_unique<mem_ref_tmp_buf>(e.var_id, size, e.alignment, std::move(md),
                                           std::move(e.dtype), std::move(e.shape));
  return NRT_SUCCESS;
}

// The payload of a constant, inside the member table.
NRT_STATUS find_payload(const var_entry &e, std::span<const uint8_t> *out) {
  std::string_view name;
  NRT_STATUS status = json_string(e.field(KEY_FILE_NAME), JSON_REQUIRED, e.place, &name);
  if (status != NRT_SUCCESS)
    return status;
  json_place at = e.at(KEY_FILE_NAME);
  const std::span<const uint8_t> *member = e.res.find_member(name);
  if (!member)  // some writers leave the extension to the reader
    member = e.res.find_member(std::string(name) + ".bin");
  if (!member)
    return at.fail("no member \"{}{}\"", e.res.directory, json_excerpt(name));
  *out = *member;
  if (name.ends_with(".npy")) {
    status = npy_payload(*member, at, out);
    if (status != NRT_SUCCESS)
      return status;
  }
  if (out->empty())
    return at.fail("member \"{}{}\" holds no data", e.res.directory, json_excerpt(name));
  return NRT_SUCCESS;
}

NRT_STATUS make_buffer(var_entry &e, std::unique_ptr<mem_ref> *out) {
  std::span<const uint8_t> payload;
  debug_tensor_md md;
  bool alt;  // placement of constants does not depend on it
  uint64_t size = 0;
  NRT_STATUS status = find_payload(e, &payload);
  if (status == NRT_SUCCESS && e.field(KEY_SIZE).present)
    status = read_size(e, &size);
  if (status == NRT_SUCCESS)
    status = read_print_metadata(e, &md);
  if (status == NRT_SUCCESS)
    status = read_fabric_path(e, &alt);
  if (status != NRT_SUCCESS)
    return status;
  if (size > payload.size())
    return e.at(KEY_SIZE).fail("is {}, the file holds {} bytes (\"{}\")", size, payload.size(),
                               json_field_text(e.field(KEY_FILE_NAME)));
  // The record's pointer is not const (layout contract), but nobody writes through it.
  auto *data = const_cast<uint8_t *>(payload.data());
  *out = std::make_unique<mem_ref_buffer>(e.var_id, e.kind, payload.size(), e.alignment, data,
                                          std::move(md), std::move(e.dtype), std::move(e.shape));
  return NRT_SUCCESS;
}

NRT_STATUS make_virtual(var_entry &e, std::string_view name, std::unique_ptr<mem_ref> *out) {
  uint64_t size = 0, offset = 0, end = 0;
  kbin_backing_buf_t buf;
  debug_tensor_md md;
  bool alt;
  NRT_STATUS status = read_size(e, &size);
  if (status == NRT_SUCCESS)
    status = json_uint(e.field(KEY_OFFSET), JSON_REQUIRED, e.place, UINT64_MAX, &offset);
  if (status == NRT_SUCCESS)
    status = read_backing_buf(e, &buf);
  if (status == NRT_SUCCESS)
    status = read_fabric_path(e, &alt);
  if (status == NRT_SUCCESS)
    status = read_print_metadata(e, &md);
  if (status != NRT_SUCCESS)
    return status;
  if (!checked_add(offset, size, &end))
    return e.at(KEY_OFFSET).fail("is {}: with size {} the end passes 64 bits", offset, size);
  if (alt && kbin_backing_buf_is_shared(buf))
    return e.at(KEY_FABRIC_PATH)
        .fail("\"alt\" together with backing_buf \"{}\" is not supported",
              kbin_backing_buf_name(buf));
  auto object = std::make_unique<mem_ref_virtual_tmp_buf>(
      e.var_id, size, offset, buf, std::move(md), std::move(e.dtype), std::move(e.shape));

  mla_resources &res = e.res;
  uint64_t *area_end = kbin_backing_buf_is_shared(buf) ? &res.shared_end
                       : alt                           ? &res.alt_end
                                                       : &res.main_end;
  *area_end = std::max(*area_end, end);
  if (alt)
    res.alt_vars.push_back(object.get());
  if (buf == KBIN_BACKING_BUF_SHARED && res.first_shared.empty())
    res.first_shared = name;
  if (buf == KBIN_BACKING_BUF_SHARDED && res.first_sharded.empty())
    res.first_sharded = name;
  *out = std::move(object);
  return NRT_SUCCESS;
}

NRT_STATUS make_pointer(var_entry &e, std::unique_ptr<mem_ref> *out) {
  uint64_t size = 0;
  uint32_t referenced = 0;
  NRT_STATUS status = json_uint(e.field(KEY_SIZE), JSON_REQUIRED, e.place, UINT64_MAX, &size);
  if (status != NRT_SUCCESS)
    return status;
  if (size != sizeof(uint64_t))
    return e.at(KEY_SIZE).fail("is {}, a pointer has exactly {} bytes", size, sizeof(uint64_t));
  status = json_uint32(e.field(KEY_REFERENCED), JSON_REQUIRED, e.place, UINT32_MAX, &referenced);
  if (status != NRT_SUCCESS)
    return status;
  // io_ref follows from the target, which may stand further down: def_vars_check sets it.
  *out = std::make_unique<mem_ref_pointer>(e.var_id, referenced, false, std::move(e.dtype),
                                           std::move(e.shape));
  return NRT_SUCCESS;
}

NRT_STATUS make_list(var_entry &e, std::unique_ptr<mem_ref> *out) {
  std::vector<uint64_t> ids;
  NRT_STATUS status = json_uint_list(e.field(KEY_LIST), JSON_REQUIRED, e.place, UINT32_MAX, &ids);
  if (status != NRT_SUCCESS)
    return status;
  std::vector<uint32_t> list(ids.begin(), ids.end());
  if (e.kind == MR_PTR_TABLE)
    *out = std::make_unique<mem_ref_ptr_table>(e.var_id, std::move(list));
  else
    *out = std::make_unique<mem_ref_list>(e.var_id, std::move(list));
  return NRT_SUCCESS;
}

NRT_STATUS make_remote(var_entry &e, std::unique_ptr<mem_ref> *out) {
  uint64_t subgraph = 0;
  std::string_view name;
  NRT_STATUS status =
      json_uint(e.field(KEY_REMOTE_SG), JSON_REQUIRED, e.place, UINT32_MAX, &subgraph);
  if (status == NRT_SUCCESS)
    status = json_string(e.field(KEY_REMOTE_VAR), JSON_REQUIRED, e.place, &name);
  if (status != NRT_SUCCESS)
    return status;
  *out =
      std::make_unique<mem_ref_remote_variable>(e.var_id, std::move(e.dtype), std::move(e.shape));
  e.res.kbin->remote_requests.push_back({e.var_id, subgraph, std::string(name)});
  return NRT_SUCCESS;
}

NRT_STATUS make_object(var_entry &e, std::string_view name, std::unique_ptr<mem_ref> *out) {
  switch (e.kind) {
    case MR_SB:
      *out = std::make_unique<mem_ref_sp>(e.var_id, std::move(e.dtype), std::move(e.shape));
      return NRT_SUCCESS;
    case MR_INPUT:
    case MR_OUTPUT:
      return make_io(e, out);
    case MR_BUFFER:
    case MR_BUFFER_STAGED:
      return make_buffer(e, out);
    case MR_TMP_BUF:
      return make_tmp_buf(e, out);
    case MR_VIRTUAL_TMP_BUF:
      return make_virtual(e, name, out);
    case MR_PTR:
      return make_pointer(e, out);
    case MR_LIST:
    case MR_PTR_TABLE:
      return make_list(e, out);
    case MR_REMOTE:
      return make_remote(e, out);
    case MR_INVALID:
      break;
  }
  return e.place.fail("internal: no class for kind {}", kbin_mr_type_name(e.kind));
}

// Kinds with an address of their own that does not change between loads and binds, or is translated
// at bind (inputs and outputs).
bool has_address(kbin_mr_type_t kind) {
  switch (kind) {
    case MR_SB:
    case MR_BUFFER:
    case MR_BUFFER_STAGED:
    case MR_TMP_BUF:
    case MR_INPUT:
    case MR_OUTPUT:
    case MR_VIRTUAL_TMP_BUF:
    case MR_REMOTE:
      return true;
    default:
      return false;
  }
}

NRT_STATUS check_pointer(mla_resources &res, mem_ref_pointer &pointer, const json_place &place) {
  auto target = res.mi.var_id_to_mem_refs.find(pointer.referenced_var_id);
  if (target == res.mi.var_id_to_mem_refs.end()) {
    return res.vars_complete ? json_place(place, "referenced_var_id")
                                   .fail("no variable has id {}", pointer.referenced_var_id)
                             : NRT_SUCCESS;
  }
  kbin_mr_type_t kind = target->second->type;
  // A pointer holds the base address of its target. Other pointers, lists and tables do not
  // resolve to an address of their own (rulings.md 7).
  if (!has_address(kind))
    return json_place(place, "referenced_var_id")
        .fail("id {} is \"{}\" of kind {}, which a pointer cannot refer to",
              pointer.referenced_var_id,
              json_excerpt(res.mi.var_id_to_name[pointer.referenced_var_id]),
              kbin_mr_type_name(kind));
  pointer.io_ref = kind == MR_INPUT || kind == MR_OUTPUT;
  return NRT_SUCCESS;
}

NRT_STATUS check_list(mla_resources &res, const mem_ref_list &list, const json_place &place) {
  json_place at(place, "list");
  json_steps steps(place.findings());
  for (size_t i = 0; i < list.list.size(); i++) {
    uint32_t id = list.list[i];
    auto target = res.mi.var_id_to_mem_refs.find(id);
    if (target == res.mi.var_id_to_mem_refs.end()) {
      if (res.vars_complete && steps.stop(json_place(at, i).fail("no variable has id {}", id)))
        break;
      continue;
    }
    kbin_mr_type_t kind = target->second->type;
    // A pointer in a table stands for its target; lists have no address to enter.
    if (!has_address(kind) && kind != MR_PTR &&
        steps.stop(json_place(at, i).fail(
            "id {} is \"{}\" of kind {}, which has no address to list", id,
            json_excerpt(res.mi.var_id_to_name[id]), kbin_mr_type_name(kind))))
      break;
  }
  return steps.status();
}

// Places the alt area behind the main one: records know one local arena only.
NRT_STATUS place_alt_area(mla_resources &res, const json_place &place) {
  if (res.alt_vars.empty())
    return NRT_SUCCESS;
  constexpr uint64_t AREA_ALIGN = 64;
  uint64_t base, end;
  if (!checked_round_up(res.main_end, AREA_ALIGN, &base) || !checked_add(base, res.alt_end, &end))
    return place.fail("areas main ({} bytes) and alt ({} bytes) together pass 64 bits",
                      res.main_end, res.alt_end);
  for (mem_ref_virtual_tmp_buf *var : res.alt_vars)
    var->offset += base;  // at most `end`
  res.main_end = end;
  res.alt_vars.clear();
  return NRT_SUCCESS;
}

}  // namespace

NRT_STATUS parse_one_variable(mla_resources &res, std::string_view name, element entry,
                              const json_place &place) {
  var_entry e{res, place, {}, MR_INVALID, 0, 0, {}, {}};
  for (size_t i = 0; i < KEY_COUNT; i++)
    e.fields[i].key = VAR_KEYS[i];
  std::string_view type;
  NRT_STATUS status = json_no_nul(name, place);
  if (status == NRT_SUCCESS)
    status = json_pick(entry, place, e.fields);
  if (status == NRT_SUCCESS)
    status = json_string(e.field(KEY_TYPE), JSON_REQUIRED, place, &type);
  if (status == NRT_SUCCESS)
    status = json_uint32(e.field(KEY_VAR_ID), JSON_REQUIRED, place, UINT32_MAX, &e.var_id);
  if (status != NRT_SUCCESS)
    return status;

  // Asked before the object exists, so that a repeated entry costs nothing to drop.
  std::string key(name), other_name;
  uint32_t other_id = 0;
  switch (res.mi.check_var_exists(key, e.var_id, &other_name, &other_id)) {
    case mem_ref_info::existing::none:
      break;
    case mem_ref_info::existing::same:
      return NRT_SUCCESS;
    case mem_ref_info::existing::conflict:
      return place.fail("variable \"{}\" with id {} contradicts \"{}\" with id {}",
                        json_excerpt(name), e.var_id, json_excerpt(other_name), other_id);
  }

  const auto *known = std::find_if(std::begin(VAR_TYPES), std::end(VAR_TYPES),
                                   [&](const var_type &t) { return t.name == type; });
  if (known == std::end(VAR_TYPES))
    return e.at(KEY_TYPE).fail("unknown variable type \"{}\"", json_excerpt(type));
  e.kind = known->kind;

  std::unique_ptr<mem_ref> object;
  status = read_alignment(e);
  if (status == NRT_SUCCESS)
    status = read_dtype(e);
  if (status == NRT_SUCCESS)
    status = read_shape(e);
  if (status == NRT_SUCCESS)
    status = make_object(e, name, &object);
  if (status != NRT_SUCCESS)
    return status;
  res.num_inputs += e.kind == MR_INPUT;
  res.num_outputs += e.kind == MR_OUTPUT;
  if (e.kind == MR_PTR || e.kind == MR_LIST || e.kind == MR_PTR_TABLE)
    res.referring.push_back(e.var_id);
  res.mi.add_var_to_lookup_maps(std::move(key), e.var_id, std::move(object));
  return NRT_SUCCESS;
}

NRT_STATUS def_vars_check(mla_resources &res, const json_place &place) {
  const auto &objects = res.mi.var_id_to_mem_refs;
  json_steps steps(place.findings());
  if (res.vars_complete) {
    if (!objects.empty()) {
      uint64_t highest = objects.rbegin()->first;
      if (highest + 1 != objects.size() &&
          steps.stop(place.fail("variable ids are not dense: the highest is {}, there are {} "
                                "variables",
                                highest, objects.size())))
        return steps.status();
    }
    if (res.num_outputs == 0 && steps.stop(place.fail("subgraph has no outputs")))
      return steps.status();
  }
  std::sort(res.referring.begin(), res.referring.end());
  for (uint32_t id : res.referring) {
    mem_ref *object = objects.find(id)->second;
    json_place at(place, res.mi.var_id_to_name[id]);
    NRT_STATUS status = object->type == MR_PTR
                            ? check_pointer(res, static_cast<mem_ref_pointer &>(*object), at)
                            : check_list(res, static_cast<const mem_ref_list &>(*object), at);
    if (steps.stop(status))
      return steps.status();
  }
  // Where the two kinds lie relative to each other is not known (device-memory.md 7.18).
  if (!res.first_shared.empty() && !res.first_sharded.empty() &&
      steps.stop(json_place(place, res.first_sharded)
                     .fail("backing_buf \"sharded\" in a plan that also has \"shared\" (\"{}\")",
                           json_excerpt(res.first_shared))))
    return steps.status();
  (void)steps.stop(place_alt_area(res, place));
  return steps.status();
}
