/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads a NEFF and prints its tensors, one per line: usage, name, element type, shape, bytes.
 *
 *   cc load_tensors.c $(pkg-config --cflags --libs nrt) -o load_tensors
 *   NEURON_RT_MOCK=always ./load_tensors model.neff
 */
#include <fcntl.h>
#include <inttypes.h>
#include <nrt/nrt.h>
#include <nrt/nrt_experimental.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *dtype_name(nrt_dtype_t dtype) {
  static const char *const names[] = {
      "unknown", "uint64", "int8",    "uint8", "int16", "uint16", "bfloat16", "float16",
      "int32",   "uint32", "float32", "fp32r", "int64", "fp8_e3", "fp8_e4",   "fp8_e5",
  };
  return (size_t)dtype < sizeof(names) / sizeof(names[0]) ? names[dtype] : "unknown";
}

static void print_tensor(const nrt_tensor_info_t *tensor) {
  printf("%s %s %s [", tensor->usage == NRT_TENSOR_USAGE_INPUT ? "input" : "output", tensor->name,
         dtype_name(tensor->dtype));
  for (uint32_t i = 0; i < tensor->ndim; ++i)
    printf("%s%" PRIu32, i == 0 ? "" : ",", tensor->shape[i]);
  printf("] %zu\n", tensor->size);
}

static int print_model(const void *bytes, size_t size) {
  nrt_model_t *model = NULL;
  NRT_STATUS status = nrt_load(bytes, size, -1, -1, &model);
  if (status != NRT_SUCCESS) {
    fprintf(stderr, "nrt_load: status %d\n", status);
    return 1;
  }
  nrt_tensor_info_array_t *info = NULL;
  status = nrt_get_model_tensor_info(model, &info);
  if (status == NRT_SUCCESS) {
    for (uint64_t i = 0; i < info->tensor_count; ++i)
      print_tensor(&info->tensor_array[i]);
    nrt_free_model_tensor_info(info);
  } else {
    fprintf(stderr, "nrt_get_model_tensor_info: status %d\n", status);
  }
  NRT_STATUS unloaded = nrt_unload(model);
  if (unloaded != NRT_SUCCESS)
    fprintf(stderr, "nrt_unload: status %d\n", unloaded);
  return status == NRT_SUCCESS && unloaded == NRT_SUCCESS ? 0 : 1;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s FILE.neff\n", argv[0]);
    return 2;
  }
  int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
  struct stat st;
  if (fd < 0 || fstat(fd, &st) != 0 || st.st_size <= 0) {
    fprintf(stderr, "%s: cannot be read\n", argv[1]);
    return 1;
  }
  size_t size = (size_t)st.st_size;
  void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (bytes == MAP_FAILED) {
    perror(argv[1]);
    return 1;
  }
  NRT_STATUS status = nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "");
  if (status != NRT_SUCCESS) {
    fprintf(stderr, "nrt_init: status %d\n", status);
    munmap(bytes, size);
    return 1;
  }
  int result = print_model(bytes, size);
  nrt_close();
  munmap(bytes, size);
  return result;
}
