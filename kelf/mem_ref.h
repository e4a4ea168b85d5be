// SPDX-License-Identifier: Apache-2.0
// The build-side variable tree (seed section 2, mem-ref.md 2): ten classes, single inheritance,
// three vtable slots each: dump, complete destructor, deleting destructor. Objects live during one
// subgraph's lowering and are owned by mem_ref_info. Not to be confused with mem_ref_t in
// tdrv/mem_ref.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kelf/kbin.h"

// Device-print metadata on the build side. Present when prefix is not empty.
struct debug_tensor_md {
  std::string prefix;
  uint32_t pipe_id = 0;
};
static_assert(sizeof(debug_tensor_md) == 40 && offsetof(debug_tensor_md, pipe_id) == 32);

class mem_ref {
 public:
  mem_ref(uint32_t var_id, kbin_mr_type_t type, std::string dtype, std::vector<uint64_t> shape);
  mem_ref(const mem_ref &) = delete;
  mem_ref &operator=(const mem_ref &) = delete;

  // Writes this object into its record. NRT_INVALID when dtype (15 characters) or shape (8
  // dimensions) or a debug prefix (511 characters) does not fit: never truncates. NRT_RESOURCE
  // without memory.
  virtual NRT_STATUS dump(kbin_mem_ref &out);
  virtual ~mem_ref();

  uint32_t var_id;
  kbin_mr_type_t type;
  std::string dtype;
  std::vector<uint64_t> shape;
};

class mem_ref_sp : public mem_ref {
 public:
  mem_ref_sp(uint32_t id, std::string dtype, std::vector<uint64_t> shape);
  NRT_STATUS dump(kbin_mem_ref &out) override;
  ~mem_ref_sp() override;
};

class mem_ref_remote_variable : public mem_ref {
 public:
  mem_ref_remote_variable(uint32_t id, std::string dtype, std::vector<uint64_t> shape);
  NRT_STATUS dump(kbin_mem_ref &out) override;
  ~mem_ref_remote_variable() override;
};

class mem_ref_pointer : public mem_ref {
 public:
  mem_ref_pointer(uint32_t id, uint32_t referenced, bool io, std::string dtype,
                  std::vector<uint64_t> shape);
  NRT_STATUS dump(kbin_mem_ref &out) override;
  ~mem_ref_pointer() override;

  uint32_t referenced_var_id;
  bool io_ref;
};

class mem_ref_io : public mem_ref {
 public:
  mem_ref_io(uint32_t id, size_t bytes, uint32_t align, kbin_mr_type_t kind, std::string dtype,
             std::vector<uint64_t> shape);
  NRT_STATUS dump(kbin_mem_ref &out) override;
  ~mem_ref_io() override;

  size_t size;
  uint32_t alignment;
};

class mem_ref_list : public mem_ref {
 public:
  mem_ref_list(uint32_t id, std::vector<uint32_t> ids);
  NRT_STATUS dump(kbin_mem_ref &out) override;
  ~mem_ref_list() override;

  std::vector<uint32_t> list;

 protected:
  mem_ref_list(uint32_t id, kbin_mr_type_t kind, std::vector<uint32_t> ids);
};

// Does not override dump: it serialises exactly as a list, and its second vector leaves no trace.
class mem_ref_ptr_table : public mem_ref_list {
 public:
  mem_ref_ptr_table(uint32_t id, std::vector<uint32_t> ids);
  ~mem_ref_ptr_table() override;

  std::vector<uint32_t> pointer_list;  // per row; rebuilt at load
};

class mem_ref_tmp_buf : public mem_ref {
 public:
  mem_ref_tmp_buf(uint32_t id, size_t bytes, uint32_t align, debug_tensor_md md, std::string dtype,
                  std::vector<uint64_t> shape);
  NRT_STATUS dump(kbin_mem_ref &out) override;
  ~mem_ref_tmp_buf() override;

  size_t size;
  uint32_t alignment;
  debug_tensor_md dtensor_md;
};

class mem_ref_buffer : public mem_ref {
 public:
  // `kind` is MR_BUFFER or MR_BUFFER_STAGED. `data` stays owned by the member table.
  mem_ref_buffer(uint32_t id, kbin_mr_type_t kind, size_t bytes, uint32_t align, uint8_t *data,
                 debug_tensor_md md, std::string dtype, std::vector<uint64_t> shape);
  NRT_STATUS dump(kbin_mem_ref &out) override;
  ~mem_ref_buffer() override;

  size_t size;
  uint32_t alignment;
  uint8_t *buffer;
  debug_tensor_md dtensor_md;
};

class mem_ref_virtual_tmp_buf : public mem_ref {
 public:
  mem_ref_virtual_tmp_buf(uint32_t id, size_t bytes, uint64_t backing_offset,
                          kbin_backing_buf_t backing, debug_tensor_md md, std::string dtype,
                          std::vector<uint64_t> shape);
  NRT_STATUS dump(kbin_mem_ref &out) override;
  ~mem_ref_virtual_tmp_buf() override;

  size_t size;
  uint64_t offset;
  kbin_backing_buf_t backing_buf;
  debug_tensor_md dtensor_md;
};

static_assert(sizeof(mem_ref) == 72 && sizeof(mem_ref_sp) == 72 &&
              sizeof(mem_ref_remote_variable) == 72 && sizeof(mem_ref_pointer) == 80 &&
              sizeof(mem_ref_io) == 88 && sizeof(mem_ref_list) == 96 &&
              sizeof(mem_ref_ptr_table) == 120 && sizeof(mem_ref_tmp_buf) == 128 &&
              sizeof(mem_ref_buffer) == 136 && sizeof(mem_ref_virtual_tmp_buf) == 136);
