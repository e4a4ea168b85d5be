// SPDX-License-Identifier: Apache-2.0
// Static DMA blocks (neff-format.md 3.8).
#include <algorithm>

#include "base/checked.h"
#include "kelf/mla_resources.h"

namespace {

using simdjson::dom::element;

struct dma_op {
  std::string_view name;
  kbin_dma_desc_op_t op;
};

constexpr dma_op DMA_OPS[] = {
    {"copy", kbin_dma_desc_op_t::COPY},
    {"cast", kbin_dma_desc_op_t::CAST},
    {"fma", kbin_dma_desc_op_t::FMA},
    {"add", kbin_dma_desc_op_t::ADD},
    {"min", kbin_dma_desc_op_t::MIN},
    {"max", kbin_dma_desc_op_t::MAX},
    {"transpose", kbin_dma_desc_op_t::TRANSPOSE},
    {"transpose_op", kbin_dma_desc_op_t::TRANSPOSE},
};

bool is_compute(kbin_dma_desc_op_t op) {
  return op == kbin_dma_desc_op_t::FMA || op == kbin_dma_desc_op_t::ADD ||
         op == kbin_dma_desc_op_t::MIN || op == kbin_dma_desc_op_t::MAX;
}

// The five keys of one side.
struct side_keys {
  std::string_view var, offset, sizes, steps, dtype;
};
constexpr side_keys FROM = {"from", "from_off", "from_sizes", "from_steps", "from_dtype"};
constexpr side_keys TO = {"to", "to_off", "to_sizes", "to_steps", "to_dtype"};

// Their fields; the names are those of `keys`.
struct side_fields {
  const side_keys &keys;
  const json_field &var, &offset, &sizes, &steps, &dtype;
};

// Bytes a transfer may touch in a variable; false where that is not known or not allowed yet.
bool variable_bytes(const mem_ref &object, uint64_t *out) {
  switch (object.type) {
    case MR_SB:
      *out = KELF_SB_APERTURE;
      return true;
    case MR_INPUT:
    case MR_OUTPUT:
      *out = static_cast<const mem_ref_io &>(object).size;
      return true;
    case MR_TMP_BUF:
      *out = static_cast<const mem_ref_tmp_buf &>(object).size;
      return true;
    case MR_BUFFER:
    case MR_BUFFER_STAGED:
      *out = static_cast<const mem_ref_buffer &>(object).size;
      return true;
    case MR_VIRTUAL_TMP_BUF:
      *out = static_cast<const mem_ref_virtual_tmp_buf &>(object).size;
      return true;
    default:
      return false;
  }
}

NRT_STATUS read_variable(const mla_resources &res, const side_fields &f, const json_place &place,
                         const mem_ref **object, kbin_dma_pattern_t *out) {
  std::string_view name;
  *object = nullptr;
  NRT_STATUS status = json_string(f.var, JSON_REQUIRED, place, &name);
  if (status != NRT_SUCCESS)
    return status;
  json_place at(place, f.keys.var);
  auto id = res.mi.name_to_var_id.find(std::string(name));
  if (id == res.mi.name_to_var_id.end())
    return res.vars_complete ? at.fail("no variable \"{}\"", json_excerpt(name)) : NRT_SUCCESS;
  const mem_ref *var = res.mi.var_id_to_mem_refs.find(id->second)->second;
  if (var->type == MR_PTR || var->type == MR_LIST || var->type == MR_PTR_TABLE)
    return at.fail("\"{}\" is of kind {}, which a static transfer cannot address",
                   json_excerpt(name), kbin_mr_type_name(var->type));
  *object = var;
  out->var_id = id->second;
  return NRT_SUCCESS;
}

NRT_STATUS read_dims(const side_fields &f, const json_place &place, kbin_dma_pattern_t *out) {
  std::vector<uint64_t> sizes;
  NRT_STATUS status = json_uint_list(f.sizes, JSON_REQUIRED, place, UINT64_MAX, &sizes);
  if (status != NRT_SUCCESS)
    return status;
  json_place sizes_at(place, f.keys.sizes), steps_at(place, f.keys.steps);
  if (!f.steps.present)
    return json_missing(f.steps, place);
  simdjson::dom::array steps;
  status = json_to_array(f.steps.value, steps_at, &steps);
  if (status != NRT_SUCCESS)
    return status;
  if (sizes.empty() || sizes.size() > KELF_MAX_DMA_DIMS)
    return sizes_at.fail("has {} dimensions, must have 1 to {}", sizes.size(), KELF_MAX_DMA_DIMS);
  if (steps.size() != sizes.size())
    return steps_at.fail("has {} entries, {} has {}", steps.size(), f.keys.sizes, sizes.size());
  out->ndims = static_cast<uint32_t>(sizes.size());
  for (size_t i = 0; i < sizes.size(); i++) {
    if (sizes[i] == 0)
      return json_place(sizes_at, i).fail("is 0, no dimension may be empty");
    out->sizes[i] = sizes[i];
  }
  size_t i = 0;
  for (element step : steps) {
    status = json_to_int(step, json_place(steps_at, i), &out->steps[i]);
    if (status != NRT_SUCCESS)
      return status;
    i++;
  }
  return NRT_SUCCESS;
}

NRT_STATUS read_pattern(const mla_resources &res, const side_fields &f, bool dtype_required,
                        const json_place &place, kbin_dma_pattern_t *out) {
  const mem_ref *object = nullptr;
  std::string_view dtype;
  *out = {};
  NRT_STATUS status = read_variable(res, f, place, &object, out);
  if (status == NRT_SUCCESS)
    status = json_uint(f.offset, JSON_REQUIRED, place, INT64_MAX, &out->offset);
  if (status == NRT_SUCCESS)
    status = read_dims(f, place, out);
  if (status == NRT_SUCCESS)
    status = json_string(f.dtype, dtype_required ? JSON_REQUIRED : JSON_OPTIONAL, place, &dtype);
  if (status != NRT_SUCCESS)
    return status;
  if (f.dtype.present && !kelf_dtype_by_name(dtype, &out->dtype))
    return json_place(place, f.keys.dtype).fail("unknown element type \"{}\"", json_excerpt(dtype));

  uint64_t begin, end, bytes;
  if (!kbin_dma_pattern_range(*out, &begin, &end))
    return json_place(place, f.keys.offset)
        .fail("is {}: sizes and steps reach before the variable or past 63 bits", out->offset);
  if (object && variable_bytes(*object, &bytes) && end > bytes)
    return json_place(place, f.keys.offset)
        .fail("is {}: the pattern reaches byte {}, variable \"{}\" has {} bytes", out->offset,
              end - 1, json_excerpt(res.mi.var_id_to_name.find(out->var_id)->second), bytes);
  return NRT_SUCCESS;
}

bool pattern_bytes(const kbin_dma_pattern_t &pattern, uint64_t *out) {
  *out = 1;
  for (uint32_t i = 0; i < pattern.ndims; i++) {
    if (!checked_mul(*out, pattern.sizes[i], out))
      return false;
  }
  return true;
}

// What goes in must come out: as many bytes, or as many elements where both types are known.
NRT_STATUS check_amounts(const kbin_dma_transfer_t &transfer, const json_place &place) {
  uint64_t to_bytes, from_bytes;
  if (!pattern_bytes(transfer.to, &to_bytes))
    return json_place(place, TO.sizes).fail("product passes 64 bits");
  for (const kbin_dma_pattern_t &from : transfer.from) {
    if (!pattern_bytes(from, &from_bytes))
      return json_place(place, FROM.sizes).fail("product passes 64 bits");
    uint64_t from_unit = kbin_dtype_size(from.dtype), to_unit = kbin_dtype_size(transfer.to.dtype);
    if (from_unit == 0 || to_unit == 0)
      from_unit = to_unit = 1;
    if (static_cast<unsigned __int128>(from_bytes) * to_unit !=
        static_cast<unsigned __int128>(to_bytes) * from_unit)
      return json_place(place, TO.sizes)
          .fail("hold {} bytes ({} per element), the source holds {} ({} per element)", to_bytes,
                to_unit, from_bytes, from_unit);
  }
  return NRT_SUCCESS;
}

enum transfer_key : size_t {
  T_OP,
  T_FROM,
  T_FROM_OFF,
  T_FROM_SIZES,
  T_FROM_STEPS,
  T_FROM_DTYPE,
  T_TO,
  T_TO_OFF,
  T_TO_SIZES,
  T_TO_STEPS,
  T_TO_DTYPE,
  T_FROM_ARR,
  T_TILING,
  T_SCALE_DTYPE,
  T_SCALE,
  T_CONSTANT_DTYPE,
  T_CONSTANT,
  T_TRANSPOSE_SHAPE,
  T_TRANSPOSE_SIZE,
  T_COUNT,
};

NRT_STATUS read_sources(const mla_resources &res, const json_field *f, bool dtype_required,
                        const json_place &place, kbin_dma_transfer_t *out) {
  if (!f[T_FROM_ARR].present) {
    side_fields from = {FROM,           f[T_FROM], f[T_FROM_OFF], f[T_FROM_SIZES], f[T_FROM_STEPS],
                        f[T_FROM_DTYPE]};
    return read_pattern(res, from, dtype_required, place, &out->from.emplace_back());
  }
  json_place here(place, "from_arr");
  if (f[T_FROM].present)
    return here.fail("given together with \"from\"");
  simdjson::dom::array array;
  NRT_STATUS status = json_to_array(f[T_FROM_ARR].value, here, &array);
  if (status != NRT_SUCCESS)
    return status;
  if (array.size() == 0 || array.size() > KELF_MAX_SOURCES)
    return here.fail("has {} sources, must have 1 to {}", array.size(), KELF_MAX_SOURCES);
  for (element item : array) {
    json_place at(here, out->from.size());
    json_field s[] = {{FROM.var}, {FROM.offset}, {FROM.sizes}, {FROM.steps}, {FROM.dtype}};
    status = json_pick(item, at, s);
    if (status != NRT_SUCCESS)
      return status;
    side_fields from = {FROM, s[0], s[1], s[2], s[3], s[4]};
    status = read_pattern(res, from, dtype_required, at, &out->from.emplace_back());
    if (status != NRT_SUCCESS)
      return status;
  }
  return NRT_SUCCESS;
}

NRT_STATUS read_number(const json_field &field, const json_place &place, double *out) {
  if (field.present && field.value.get(*out))
    return json_place(place, field.key).fail("must be a number");
  return NRT_SUCCESS;
}

NRT_STATUS read_constant(const json_field *f, const json_place &place, kbin_dma_transfer_t *out) {
  if (!f[T_CONSTANT].present && !f[T_CONSTANT_DTYPE].present)
    return NRT_SUCCESS;
  std::string_view dtype;
  NRT_STATUS status = json_string(f[T_CONSTANT_DTYPE], JSON_REQUIRED, place, &dtype);
  if (status != NRT_SUCCESS)
    return status;
  if (!f[T_CONSTANT].present)
    return json_missing(f[T_CONSTANT], place);
  json_place at(place, "constant");
  uint64_t number = 0;
  if (dtype == "float32") {
    out->constant_dtype = KBIN_DTYPE_FP32;
    return read_number(f[T_CONSTANT], place, &out->constant_fp);
  }
  if (dtype == "uint32") {
    out->constant_dtype = KBIN_DTYPE_UINT32;
    status = json_to_uint(f[T_CONSTANT].value, at, UINT32_MAX, &number);
    out->constant = static_cast<int64_t>(number);
    return status;
  }
  if (dtype == "int32") {
    out->constant_dtype = KBIN_DTYPE_INT32;
    status = json_to_int(f[T_CONSTANT].value, at, &out->constant);
    if (status == NRT_SUCCESS && !std::in_range<int32_t>(out->constant))
      status = at.fail("is {}, outside int32", out->constant);
    return status;
  }
  return json_place(place, "constant_dtype")
      .fail("\"{}\" is none of float32, int32, uint32", json_excerpt(dtype));
}

NRT_STATUS read_operands(const json_field *f, const json_place &place, kbin_dma_transfer_t *out) {
  std::string_view scale_dtype = "float32";
  NRT_STATUS status = json_string(f[T_SCALE_DTYPE], JSON_OPTIONAL, place, &scale_dtype);
  if (status == NRT_SUCCESS && scale_dtype != "float32")
    status = json_place(place, "scale_dtype")
                 .fail("\"{}\", only float32 exists", json_excerpt(scale_dtype));
  if (status == NRT_SUCCESS)
    status = read_number(f[T_SCALE], place, &out->scale);
  if (status == NRT_SUCCESS)
    status = read_constant(f, place, out);
  std::vector<uint64_t> shape;
  if (status == NRT_SUCCESS)
    status = json_uint_list(f[T_TRANSPOSE_SHAPE], JSON_OPTIONAL, place, UINT64_MAX, &shape);
  if (status == NRT_SUCCESS && f[T_TRANSPOSE_SHAPE].present && shape.size() != 4)
    status = json_place(place, "transpose_shape").fail("has {} entries, must have 4", shape.size());
  if (status == NRT_SUCCESS)
    status = json_uint(f[T_TRANSPOSE_SIZE], JSON_OPTIONAL, place, UINT64_MAX,
                       &out->transpose_element_size);
  if (status == NRT_SUCCESS)
    std::copy(shape.begin(), shape.end(), out->transpose_shape);
  return status;
}

NRT_STATUS parse_transfer(const mla_resources &res, element value, const json_place &place,
                          kbin_dma_transfer_t *out) {
  json_field f[T_COUNT] = {{"op"},
                           {FROM.var},
                           {FROM.offset},
                           {FROM.sizes},
                           {FROM.steps},
                           {FROM.dtype},
                           {TO.var},
                           {TO.offset},
                           {TO.sizes},
                           {TO.steps},
                           {TO.dtype},
                           {"from_arr"},
                           {"num_tiling_dimensions"},
                           {"scale_dtype"},
                           {"scale"},
                           {"constant_dtype"},
                           {"constant"},
                           {"transpose_shape"},
                           {"transpose_element_size"}};
  std::string_view op = "copy";
  NRT_STATUS status = json_pick(value, place, f);
  if (status == NRT_SUCCESS)
    status = json_string(f[T_OP], JSON_OPTIONAL, place, &op);
  if (status != NRT_SUCCESS)
    return status;
  const auto *known = std::find_if(std::begin(DMA_OPS), std::end(DMA_OPS),
                                   [&](const dma_op &o) { return o.name == op; });
  if (known == std::end(DMA_OPS))
    return json_place(place, "op").fail("unknown operation \"{}\"", json_excerpt(op));
  out->op = known->op;
  bool typed = is_compute(out->op);
  status = read_sources(res, f, typed, place, out);
  if (status != NRT_SUCCESS)
    return status;
  if (out->from.size() > 1 && !typed)
    return json_place(place, "from_arr")
        .fail("{} sources, operation \"{}\" takes one", out->from.size(), op);
  side_fields to = {TO, f[T_TO], f[T_TO_OFF], f[T_TO_SIZES], f[T_TO_STEPS], f[T_TO_DTYPE]};
  status = read_pattern(res, to, typed, place, &out->to);
  if (status != NRT_SUCCESS)
    return status;
  uint64_t tiling = 0;
  status = json_uint(f[T_TILING], JSON_OPTIONAL, place, KELF_MAX_DMA_DIMS, &tiling);
  if (status != NRT_SUCCESS)
    return status;
  out->num_tiling_dimensions = f[T_TILING].present ? static_cast<int32_t>(tiling) : -1;
  status = read_operands(f, place, out);
  return status == NRT_SUCCESS ? check_amounts(*out, place) : status;
}

// Finds the queue set a block belongs to; NULL without a finding when the queue table is broken
// anyway.
NRT_STATUS resolve_queue(const mla_resources &res, const json_field &queue_field,
                         const json_field &instance_field, const json_place &place,
                         kbin_dma_block_t *block, const kbin_dma_queue_t **out) {
  std::string_view queue, instance;
  *out = nullptr;
  NRT_STATUS status = json_string(instance_field, JSON_OPTIONAL, place, &instance);
  if (status == NRT_SUCCESS)
    status = json_string(queue_field, instance_field.present ? JSON_OPTIONAL : JSON_REQUIRED, place,
                         &queue);
  if (status != NRT_SUCCESS)
    return status;
  const auto &index = instance_field.present ? res.queue_by_instance : res.queue_by_name;
  auto known = index.find(instance_field.present ? instance : queue);
  // A refused set is known by name but not there (collect mode).
  if (known != index.end() && known->second < res.kbin->queues.size())
    *out = &res.kbin->queues[known->second];
  if (*out) {
    block->queue = (*out)->name;
    block->instance_name = instance;
    return NRT_SUCCESS;
  }
  if (!res.queues_complete)
    return NRT_SUCCESS;
  if (instance_field.present)
    return json_place(place, instance_field.key)
        .fail("no queue set has an instance \"{}\"", json_excerpt(instance));
  return json_place(place, queue_field.key).fail("no queue set \"{}\"", json_excerpt(queue));
}

NRT_STATUS parse_block(mla_resources &res, element value, al_hal_tpb_eng_type engine,
                       const json_place &place) {
  enum { B_ID, B_QUEUE, B_INSTANCE, B_DESC, B_SEM, B_EVENT, B_REMOTE, B_FUNC, B_SECTION, B_PRIO };
  json_field f[] = {{"id"},
                    {"queue"},
                    {"instance_name"},
                    {"desc"},
                    {"semaphore"},
                    {"event"},
                    {"remote_semaphores"},
                    {"function_start"},
                    {"section_start_desc"},
                    {"priority_class"}};
  kbin_dma_block_t block{};
  block.semaphore = block.event = -1;
  block.engine = engine;
  const kbin_dma_queue_t *queue = nullptr;
  uint32_t number = 0;
  std::vector<uint64_t> remote;
  std::string_view function;
  NRT_STATUS status = json_pick(value, place, f);
  if (status == NRT_SUCCESS)
    status = json_uint32(f[B_ID], JSON_REQUIRED, place, UINT32_MAX, &block.id);
  if (status == NRT_SUCCESS)
    status = resolve_queue(res, f[B_QUEUE], f[B_INSTANCE], place, &block, &queue);
  if (status == NRT_SUCCESS)
    status = json_uint32(f[B_SEM], JSON_OPTIONAL, place, KELF_NUM_SEMAPHORES - 1, &number);
  if (status == NRT_SUCCESS && f[B_SEM].present)
    block.semaphore = static_cast<int32_t>(number);
  if (status == NRT_SUCCESS)
    status = json_uint32(f[B_EVENT], JSON_OPTIONAL, place, KELF_NUM_SEMAPHORES - 1, &number);
  if (status == NRT_SUCCESS && f[B_EVENT].present)
    block.event = static_cast<int32_t>(number);
  if (status == NRT_SUCCESS)
    status = json_uint_list(f[B_REMOTE], JSON_OPTIONAL, place, KELF_NUM_SEMAPHORES - 1, &remote);
  if (status == NRT_SUCCESS)
    status = json_string(f[B_FUNC], JSON_OPTIONAL, place, &function);
  if (status == NRT_SUCCESS)
    status = json_bool(f[B_SECTION], JSON_OPTIONAL, place, &block.section_start_desc);
  if (status == NRT_SUCCESS)
    status = json_uint32(f[B_PRIO], JSON_OPTIONAL, place, UINT32_MAX, &block.priority_class);
  if (status != NRT_SUCCESS)
    return status;
  block.remote_semaphores.assign(remote.begin(), remote.end());
  block.function_start = function;
  if (queue) {
    if (queue->type == kbin_dma_queue_type_t::DYNAMIC)
      return json_place(place, "queue")
          .fail("\"{}\" is dynamic and takes no static blocks", json_excerpt(queue->name));
    if (engine == AL_HAL_TPB_ENG_TYPE_NUM)
      block.engine = queue->owner;
    // The trigger names queue and block: a second block of that name could never be reached.
    const std::string &ring = block.instance_name.empty() ? block.queue : block.instance_name;
    if (!res.block_ids.emplace(ring, block.id).second)
      return json_place(place, "id")
          .fail("block {} of \"{}\" given twice", block.id, json_excerpt(ring));
  }
  if (!f[B_DESC].present)
    return json_missing(f[B_DESC], place);
  json_place desc_at(place, "desc");
  simdjson::dom::array desc;
  status = json_to_array(f[B_DESC].value, desc_at, &desc);
  if (status != NRT_SUCCESS)
    return status;
  json_steps steps(place.findings());
  size_t index = 0;
  for (element item : desc) {
    if (steps.stop(
            parse_transfer(res, item, json_place(desc_at, index++), &block.desc.emplace_back())))
      break;
  }
  if (steps.status() == NRT_SUCCESS)
    res.kbin->blocks.push_back(std::move(block));
  return steps.status();
}

}  // namespace

bool kelf_dtype_by_name(std::string_view name, uint8_t *out) {
  struct entry {
    std::string_view name;
    kbin_dtype dtype;
  };
  static constexpr entry NAMES[] = {
      {"float8e3", KBIN_DTYPE_FP8E3},
      {"float8e4", KBIN_DTYPE_FP8E4},
      {"float8e5", KBIN_DTYPE_FP8E5},
      {"float16", KBIN_DTYPE_FP16},
      {"float32", KBIN_DTYPE_FP32},
      {"float32r", KBIN_DTYPE_FP32R},
      {"bfloat16", KBIN_DTYPE_BF16},
      {"uint8", KBIN_DTYPE_UINT8},
      {"uint16", KBIN_DTYPE_UINT16},
      {"uint32", KBIN_DTYPE_UINT32},
      {"uint64", KBIN_DTYPE_UINT64},
      {"int8", KBIN_DTYPE_INT8},
      {"int16", KBIN_DTYPE_INT16},
      {"int32", KBIN_DTYPE_INT32},
      {"int64", KBIN_DTYPE_INT64},
      {"float8_e4m3fn", KBIN_DTYPE_FP8E4},
      // Packed elements travel as the integer that holds them.
      {"float8_e4m3fn_x4", KBIN_DTYPE_UINT32},
      {"float8_e5m2_x4", KBIN_DTYPE_UINT32},
      {"float4_e2m1fn_x4", KBIN_DTYPE_UINT16},
  };
  for (const entry &e : NAMES) {
    if (e.name == name) {
      *out = e.dtype;
      return true;
    }
  }
  return false;
}

NRT_STATUS dma_blocks_parse(mla_resources &res, element value, al_hal_tpb_eng_type engine,
                            const json_place &place) {
  simdjson::dom::array array;
  NRT_STATUS status = json_to_array(value, place, &array);
  if (status != NRT_SUCCESS)
    return status;
  json_steps steps(place.findings());
  size_t index = 0;
  for (element item : array) {
    if (steps.stop(parse_block(res, item, engine, json_place(place, index++))))
      break;
  }
  return steps.status();
}
