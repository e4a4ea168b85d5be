// SPDX-License-Identifier: Apache-2.0
#include "kelf/mem_ref.h"

#include <cstdlib>
#include <cstring>
#include <utility>

namespace {

// Present when the prefix is not empty.
NRT_STATUS dump_metadata(const debug_tensor_md &md, kbin_mem_ref &out) {
  if (md.prefix.empty())
    return NRT_SUCCESS;
  if (md.prefix.size() >= KBIN_PREFIX_MAX)
    return NRT_INVALID;
  auto *copy = static_cast<kbin_debug_tensor_md_t *>(calloc(1, sizeof(kbin_debug_tensor_md_t)));
  if (!copy)
    return NRT_RESOURCE;
  memcpy(copy->prefix_str, md.prefix.data(), md.prefix.size());
  copy->pipe_id = md.pipe_id;
  out.dtensor_md = copy;
  return NRT_SUCCESS;
}

}  // namespace

mem_ref::mem_ref(uint32_t id, kbin_mr_type_t kind, std::string dtype_name,
                 std::vector<uint64_t> dims)
    : var_id(id), type(kind), dtype(std::move(dtype_name)), shape(std::move(dims)) {}
mem_ref::~mem_ref() = default;

NRT_STATUS mem_ref::dump(kbin_mem_ref &out) {
  if (dtype.size() >= KBIN_DTYPE_MAX || shape.size() > KBIN_SHAPE_MAX)
    return NRT_INVALID;
  out.mr_type = type;
  out.var_id = var_id;
  memset(out.dtype, 0, sizeof(out.dtype));
  memcpy(out.dtype, dtype.data(), dtype.size());
  for (size_t i = 0; i < KBIN_SHAPE_MAX; i++)
    out.shape[i] = i < shape.size() ? shape[i] : 0;
  return NRT_SUCCESS;
}

mem_ref_sp::mem_ref_sp(uint32_t id, std::string dtype_name, std::vector<uint64_t> dims)
    : mem_ref(id, MR_SB, std::move(dtype_name), std::move(dims)) {}
mem_ref_sp::~mem_ref_sp() = default;

// The state buffer's size belongs to the device: it is filled in when the variable is staged.
NRT_STATUS mem_ref_sp::dump(kbin_mem_ref &out) {
  return mem_ref::dump(out);
}

mem_ref_remote_variable::mem_ref_remote_variable(uint32_t id, std::string dtype_name,
                                                 std::vector<uint64_t> dims)
    : mem_ref(id, MR_REMOTE, std::move(dtype_name), std::move(dims)) {}
mem_ref_remote_variable::~mem_ref_remote_variable() = default;

// The union stays clear until kelf_resolve_vtpb_remote_variables knows the other subgraphs.
NRT_STATUS mem_ref_remote_variable::dump(kbin_mem_ref &out) {
  return mem_ref::dump(out);
}

mem_ref_pointer::mem_ref_pointer(uint32_t id, uint32_t referenced, bool io, std::string dtype_name,
                                 std::vector<uint64_t> dims)
    : mem_ref(id, MR_PTR, std::move(dtype_name), std::move(dims)),
      referenced_var_id(referenced),
      io_ref(io) {}
mem_ref_pointer::~mem_ref_pointer() = default;

NRT_STATUS mem_ref_pointer::dump(kbin_mem_ref &out) {
  NRT_STATUS status = mem_ref::dump(out);
  if (status != NRT_SUCCESS)
    return status;
  out.size = sizeof(uint64_t);  // a device address; no other size gets this far
  out.ptr.var_id = referenced_var_id;
  out.ptr.io_ref = io_ref;
  return NRT_SUCCESS;
}

mem_ref_io::mem_ref_io(uint32_t id, size_t bytes, uint32_t align, kbin_mr_type_t kind,
                       std::string dtype_name, std::vector<uint64_t> dims)
    : mem_ref(id, kind, std::move(dtype_name), std::move(dims)), size(bytes), alignment(align) {}
mem_ref_io::~mem_ref_io() = default;

NRT_STATUS mem_ref_io::dump(kbin_mem_ref &out) {
  NRT_STATUS status = mem_ref::dump(out);
  if (status != NRT_SUCCESS)
    return status;
  out.size = size;
  out.alignment = alignment;
  out.virt = {};  // covers the whole union
  return NRT_SUCCESS;
}

mem_ref_list::mem_ref_list(uint32_t id, std::vector<uint32_t> ids)
    : mem_ref_list(id, MR_LIST, std::move(ids)) {}
mem_ref_list::mem_ref_list(uint32_t id, kbin_mr_type_t kind, std::vector<uint32_t> ids)
    : mem_ref(id, kind, {}, {}), list(std::move(ids)) {}
mem_ref_list::~mem_ref_list() = default;

NRT_STATUS mem_ref_list::dump(kbin_mem_ref &out) {
  NRT_STATUS status = mem_ref::dump(out);
  if (status != NRT_SUCCESS)
    return status;
  if (list.size() > UINT32_MAX)
    return NRT_INVALID;
  out.list.length = static_cast<uint32_t>(list.size());
  out.list.list = nullptr;
  if (list.empty())
    return NRT_SUCCESS;
  out.list.list = static_cast<uint32_t *>(calloc(list.size(), sizeof(uint32_t)));
  if (!out.list.list)
    return NRT_RESOURCE;
  memcpy(out.list.list, list.data(), list.size() * sizeof(uint32_t));
  return NRT_SUCCESS;
}

mem_ref_ptr_table::mem_ref_ptr_table(uint32_t id, std::vector<uint32_t> ids)
    : mem_ref_list(id, MR_PTR_TABLE, std::move(ids)) {}
mem_ref_ptr_table::~mem_ref_ptr_table() = default;

mem_ref_tmp_buf::mem_ref_tmp_buf(uint32_t id, size_t bytes, uint32_t align, debug_tensor_md md,
                                 std::string dtype_name, std::vector<uint64_t> dims)
    : mem_ref(id, MR_TMP_BUF, std::move(dtype_name), std::move(dims)),
      size(bytes),
      alignment(align),
      dtensor_md(std::move(md)) {}
mem_ref_tmp_buf::~mem_ref_tmp_buf() = default;

NRT_STATUS mem_ref_tmp_buf::dump(kbin_mem_ref &out) {
  NRT_STATUS status = mem_ref::dump(out);
  if (status != NRT_SUCCESS)
    return status;
  out.size = size;
  out.alignment = alignment;
  return dump_metadata(dtensor_md, out);
}

mem_ref_buffer::mem_ref_buffer(uint32_t id, kbin_mr_type_t kind, size_t bytes, uint32_t align,
                               uint8_t *data, debug_tensor_md md, std::string dtype_name,
                               std::vector<uint64_t> dims)
    : mem_ref(id, kind, std::move(dtype_name), std::move(dims)),
      size(bytes),
      alignment(align),
      buffer(data),
      dtensor_md(std::move(md)) {}
mem_ref_buffer::~mem_ref_buffer() = default;

NRT_STATUS mem_ref_buffer::dump(kbin_mem_ref &out) {
  NRT_STATUS status = mem_ref::dump(out);
  if (status != NRT_SUCCESS)
    return status;
  out.size = size;
  out.alignment = alignment;
  out.buffer = buffer;
  return dump_metadata(dtensor_md, out);
}

mem_ref_virtual_tmp_buf::mem_ref_virtual_tmp_buf(uint32_t id, size_t bytes, uint64_t backing_offset,
                                                 kbin_backing_buf_t backing, debug_tensor_md md,
                                                 std::string dtype_name, std::vector<uint64_t> dims)
    : mem_ref(id, MR_VIRTUAL_TMP_BUF, std::move(dtype_name), std::move(dims)),
      size(bytes),
      offset(backing_offset),
      backing_buf(backing),
      dtensor_md(std::move(md)) {}
mem_ref_virtual_tmp_buf::~mem_ref_virtual_tmp_buf() = default;

NRT_STATUS mem_ref_virtual_tmp_buf::dump(kbin_mem_ref &out) {
  NRT_STATUS status = mem_ref::dump(out);
  if (status != NRT_SUCCESS)
    return status;
  out.size = size;
  out.virt.offset = offset;
  out.virt.backing_buf = backing_buf;
  return dump_metadata(dtensor_md, out);
}
