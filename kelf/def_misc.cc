// SPDX-License-Identifier: Apache-2.0
// The smaller blocks of def.json: state-buffer reservation, fp8 controls, rank groups, custom
// operators (neff-format.md 3.3, 3.6, 3.7, 3.12).
#include "base/checked.h"
#include "kelf/mla_resources.h"

namespace {

using simdjson::dom::element;

// The one reservation the v3 runtime takes.
constexpr kbin_sb_carveout_t CAYMAN_CARVEOUT = {229368, 8, 0, 128};

NRT_STATUS parse_carveout(mla_resources &res, element value, const json_place &place) {
  json_field f[] = {{"type"}, {"offset"}, {"size"}, {"base_partition"}, {"partitions"}};
  std::string_view type;
  kbin_sb_carveout_t c{};
  NRT_STATUS status = json_pick(value, place, f);
  if (status == NRT_SUCCESS)
    status = json_string(f[0], JSON_REQUIRED, place, &type);
  if (status == NRT_SUCCESS && type != "evtaccel")
    status = json_place(place, "type").fail("\"{}\", only \"evtaccel\" exists", json_excerpt(type));
  if (status == NRT_SUCCESS)
    status = json_uint(f[1], JSON_REQUIRED, place, UINT64_MAX, &c.offset);
  if (status == NRT_SUCCESS)
    status = json_uint(f[2], JSON_REQUIRED, place, UINT64_MAX, &c.size);
  if (status == NRT_SUCCESS)
    status = json_uint(f[3], JSON_REQUIRED, place, UINT64_MAX, &c.start_partition);
  if (status == NRT_SUCCESS)
    status = json_uint(f[4], JSON_REQUIRED, place, UINT64_MAX, &c.num_partitions);
  if (status != NRT_SUCCESS)
    return status;
  if (res.target == KELF_TARGET_CAYMAN) {
    const kbin_sb_carveout_t &want = CAYMAN_CARVEOUT;
    if (c.offset != want.offset || c.size != want.size ||
        c.start_partition != want.start_partition || c.num_partitions != want.num_partitions)
      return place.fail(
          "offset {}, size {}, base_partition {}, partitions {}; cayman takes exactly {}, {}, {}, "
          "{}",
          c.offset, c.size, c.start_partition, c.num_partitions, want.offset, want.size,
          want.start_partition, want.num_partitions);
  }
  if (!range_within(c.offset, c.size, KELF_SB_PARTITION_STRIDE))
    return place.fail("offset {} with size {} passes the partition's {} bytes", c.offset, c.size,
                      KELF_SB_PARTITION_STRIDE);
  if (!range_within(c.start_partition, c.num_partitions, KELF_SB_PARTITIONS))
    return place.fail("partitions {} from {} on, there are {}", c.num_partitions, c.start_partition,
                      KELF_SB_PARTITIONS);
  res.kbin->sb_carveouts.push_back(c);
  return NRT_SUCCESS;
}

NRT_STATUS parse_ranks(element value, const json_place &place, std::vector<int64_t> *out) {
  simdjson::dom::array array;
  NRT_STATUS status = json_to_array(value, place, &array);
  if (status != NRT_SUCCESS)
    return status;
  for (element item : array) {
    int64_t rank = 0;
    status = json_to_int(item, json_place(place, out->size()), &rank);
    if (status != NRT_SUCCESS)
      return status;
    out->push_back(rank);
  }
  return NRT_SUCCESS;
}

NRT_STATUS parse_topology(element value, const json_place &place,
                          std::vector<std::vector<int64_t>> *out) {
  simdjson::dom::array groups;
  NRT_STATUS status = json_to_array(value, place, &groups);
  if (status != NRT_SUCCESS)
    return status;
  for (element group : groups) {
    json_place at(place, out->size());
    status = parse_ranks(group, at, &out->emplace_back());
    if (status != NRT_SUCCESS)
      return status;
  }
  return NRT_SUCCESS;
}

// True for an array whose first element is no array: a plain group of ranks.
bool is_group(element value) {
  simdjson::dom::array array;
  if (value.get(array))
    return false;
  auto first = array.begin();
  return first != array.end() && !(*first).is<simdjson::dom::array>();
}

NRT_STATUS parse_one_ucode_lib(mla_resources &res, element value, std::set<std::string_view> &seen,
                               const json_place &place) {
  json_field f[] = {{"library"},  {"ulib_to_ucode_version"}, {"opcode"}, {"cpu_id"}, {"total_cpus"},
                    {"functions"}};
  std::string_view library, version;
  kbin_ucode_lib_t lib{};
  NRT_STATUS status = json_pick(value, place, f);
  if (status == NRT_SUCCESS)
    status = json_string(f[0], JSON_REQUIRED, place, &library);
  if (status != NRT_SUCCESS)
    return status;
  if (!seen.insert(library).second)
    return json_place(place, "library").fail("\"{}\" given twice", json_excerpt(library));
  const std::span<const uint8_t> *member = res.find_member(library);
  if (!member)
    member = res.source->find(library);
  if (!member)
    return json_place(place, "library").fail("no member \"{}\"", json_excerpt(library));
  lib.library = library;
  lib.content = *member;
  status = json_string(f[1], JSON_REQUIRED, place, &version);
  if (status == NRT_SUCCESS && !version.starts_with("1."))
    status = json_place(place, f[1].key)
                 .fail("\"{}\", only major version 1 is supported", json_excerpt(version));
  if (status == NRT_SUCCESS && !f[2].present)
    status = json_missing(f[2], place);
  if (status == NRT_SUCCESS)
    status = json_to_int(f[2].value, json_place(place, f[2].key), &lib.opcode);
  if (status == NRT_SUCCESS)
    status = json_uint32(f[3], JSON_OPTIONAL, place, 0, &lib.cpu_id);
  if (status == NRT_SUCCESS)
    status = json_uint32(f[4], JSON_OPTIONAL, place, 8, &lib.total_cpus);
  if (status == NRT_SUCCESS && lib.total_cpus > 1 && lib.total_cpus != 8)
    status = json_place(place, f[4].key).fail("is {}, must be 0, 1 or 8", lib.total_cpus);
  if (status == NRT_SUCCESS && f[5].present) {
    simdjson::dom::array functions;
    status = json_to_array(f[5].value, json_place(place, f[5].key), &functions);
    if (status == NRT_SUCCESS)
      lib.num_functions = static_cast<uint32_t>(functions.size());
  }
  if (status == NRT_SUCCESS)
    res.kbin->ucode_libs.push_back(std::move(lib));
  return status;
}

NRT_STATUS parse_ucode_libs(mla_resources &res, element value, const json_place &place) {
  simdjson::dom::array array;
  NRT_STATUS status = json_to_array(value, place, &array);
  if (status != NRT_SUCCESS)
    return status;
  json_steps steps(place.findings());
  size_t index = 0;
  std::set<std::string_view> seen;
  for (element item : array) {
    if (steps.stop(parse_one_ucode_lib(res, item, seen, json_place(place, index++))))
      break;
  }
  return steps.status();
}

}  // namespace

NRT_STATUS def_reservation_parse(mla_resources &res, const json_field &field,
                                 const json_place &place) {
  if (!field.present) {
    if (res.target == KELF_TARGET_CAYMAN && !res.options->allow_legacy_neff)
      return json_place(place, field.key)
          .fail("key is missing: required for cayman unless NEURON_RT_ALLOW_LEGACY_NEFF is set");
    return NRT_SUCCESS;
  }
  json_place here(place, field.key);
  simdjson::dom::array array;
  NRT_STATUS status = json_to_array(field.value, here, &array);
  if (status != NRT_SUCCESS)
    return status;
  if (res.target == KELF_TARGET_CAYMAN && array.size() > 1)
    return here.fail("{} reservations, cayman takes at most 1", array.size());
  json_steps steps(here.findings());
  size_t index = 0;
  for (element item : array) {
    if (steps.stop(parse_carveout(res, item, json_place(here, index++))))
      break;
  }
  return steps.status();
}

NRT_STATUS def_fp8_parse(mla_resources &res, element value, const json_place &place) {
  json_field f[] = {{"fp8_range_extension"},
                    {"emax_fp8_e4m3"},
                    {"emax_fp8_e5m2"},
                    {"ocp_sat"},
                    {"fp8_sis"},
                    {"fp8_sns"}};
  kbin_fp8_conv_cfg_t &cfg = res.kbin->fp8_conv_cfg;
  NRT_STATUS status = json_pick(value, place, f);
  if (status == NRT_SUCCESS)
    status = json_bool(f[0], JSON_OPTIONAL, place, &cfg.fp8_range_extension);
  if (status == NRT_SUCCESS)
    status = json_uint32(f[1], JSON_OPTIONAL, place, UINT32_MAX, &cfg.emax_fp8_e4m3);
  if (status == NRT_SUCCESS)
    status = json_uint32(f[2], JSON_OPTIONAL, place, UINT32_MAX, &cfg.emax_fp8_e5m2);
  if (status == NRT_SUCCESS)
    status = json_bool(f[3], JSON_OPTIONAL, place, &cfg.ocp_sat);
  if (status == NRT_SUCCESS)
    status = json_bool(f[4], JSON_OPTIONAL, place, &cfg.sis);
  if (status == NRT_SUCCESS)
    status = json_bool(f[5], JSON_OPTIONAL, place, &cfg.sns);
  return status;
}

NRT_STATUS def_groups_parse(element value, const json_place &place,
                            std::vector<std::vector<std::vector<int64_t>>> *out) {
  simdjson::dom::array topologies;
  NRT_STATUS status = json_to_array(value, place, &topologies);
  if (status != NRT_SUCCESS)
    return status;
  size_t index = 0;
  for (element topology : topologies) {
    json_place at(place, index++);
    if (is_group(topology)) {
      // One level less: groups right below, all of one topology.
      if (out->empty())
        out->emplace_back();
      status = parse_ranks(topology, at, &out->front().emplace_back());
    } else {
      status = parse_topology(topology, at, &out->emplace_back());
    }
    if (status != NRT_SUCCESS)
      return status;
  }
  return NRT_SUCCESS;
}

NRT_STATUS def_ucode_parse(mla_resources &res, element value, const json_place &place) {
  if (value.is<simdjson::dom::array>())
    return parse_ucode_libs(res, value, place);
  std::string_view file;
  NRT_STATUS status = json_to_string(value, place, &file);
  if (status != NRT_SUCCESS)
    return status;
  // The manifest stands at the archive's root in the descriptions, other files beside def.json.
  std::string path = res.directory + std::string(file);
  const std::span<const uint8_t> *member = res.source->find(path);
  if (!member) {
    path = file;
    member = res.source->find(path);
  }
  if (!member)
    return place.fail("no member \"{}\"", json_excerpt(file));
  json_place root(path, place.findings());
  json_document document;
  status = json_parse(*member, root, &document);
  return status == NRT_SUCCESS ? parse_ucode_libs(res, document.root, root) : status;
}

NRT_STATUS def_ext_isa_check(element value, const json_place &place) {
  json_field f[] = {{"functions"}};
  NRT_STATUS status = json_pick(value, place, f);
  if (status != NRT_SUCCESS || !f[0].present)
    return status;
  size_t count = 0;
  simdjson::dom::array array;
  simdjson::dom::object object;
  json_place here(place, "functions");
  if (!f[0].value.get(array)) {
    count = array.size();
  } else {
    status = json_to_object(f[0].value, here, &object);
    if (status != NRT_SUCCESS)
      return status;
    count = object.size();
  }
  if (count > KELF_MAX_EXT_ISA_OPS)
    return here.fail("{} operations, the limit is {}", count, KELF_MAX_EXT_ISA_OPS);
  return NRT_SUCCESS;
}
