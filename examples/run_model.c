/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads a NEFF, fills its inputs from files (or with zeros), runs it and writes its outputs to
 * files.
 *
 *   cc run_model.c $(pkg-config --cflags --libs nrt) -o run_model
 *   NEURON_RT_MOCK=always ./run_model model.neff x=x.bin y=y.bin
 *
 * Files hold the raw bytes of a tensor. Output `out` goes to out.out.
 */
#include <nrt/nrt.h>
#include <nrt/nrt_experimental.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    perror(path);
    return NULL;
  }
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  void *bytes = malloc(*size + 1);
  if (bytes != NULL && fread(bytes, 1, *size, file) != *size) {
    free(bytes);
    bytes = NULL;
  }
  fclose(file);
  return bytes;
}

static int check(const char *what, NRT_STATUS status) {
  if (status != NRT_SUCCESS)
    fprintf(stderr, "%s: status %d\n", what, status);
  return status == NRT_SUCCESS ? 0 : 1;
}

/* The file given for an input as NAME=FILE, or NULL. */
static const char *file_of(const char *name, int count, char **arguments) {
  size_t length = strlen(name);
  for (int i = 0; i < count; ++i)
    if (strncmp(arguments[i], name, length) == 0 && arguments[i][length] == '=')
      return arguments[i] + length + 1;
  return NULL;
}

static int fill_input(const nrt_tensor_info_t *info, nrt_tensor_t *tensor, const char *path) {
  if (path == NULL)
    return check("nrt_tensor_memset", nrt_tensor_memset(tensor, 0, 0, info->size));
  size_t size = 0;
  void *bytes = read_file(path, &size);
  if (bytes == NULL)
    return 1;
  int failed = 0;
  if (size != info->size) {
    fprintf(stderr, "%s: %zu bytes, input %s takes %zu\n", path, size, info->name, info->size);
    failed = 1;
  } else {
    failed = check("nrt_tensor_write", nrt_tensor_write(tensor, bytes, 0, size));
  }
  free(bytes);
  return failed;
}

static int save_output(const nrt_tensor_info_t *info, nrt_tensor_set_t *set) {
  nrt_tensor_t *tensor = NULL;
  if (check("nrt_get_tensor_from_tensor_set",
            nrt_get_tensor_from_tensor_set(set, info->name, &tensor)))
    return 1;
  char path[300];
  snprintf(path, sizeof(path), "%s.out", info->name);
  void *bytes = malloc(info->size);
  FILE *file = fopen(path, "wb");
  int failed = bytes == NULL || file == NULL ||
               check("nrt_tensor_read", nrt_tensor_read(tensor, bytes, 0, info->size)) ||
               fwrite(bytes, 1, info->size, file) != info->size;
  if (file != NULL && fclose(file) != 0)
    failed = 1;
  free(bytes);
  printf("%s: %zu bytes%s\n", path, info->size, failed ? " not written" : "");
  return failed;
}

static int run(nrt_model_t *model, int count, char **arguments) {
  nrt_tensor_info_array_t *info = NULL;
  nrt_tensor_set_t *sets[2] = {NULL, NULL}; /* by usage */
  int failed = check("nrt_get_model_tensor_info", nrt_get_model_tensor_info(model, &info)) ||
               check("nrt_allocate_tensor_set", nrt_allocate_tensor_set(&sets[0])) ||
               check("nrt_allocate_tensor_set", nrt_allocate_tensor_set(&sets[1]));
  for (uint64_t i = 0; !failed && i < info->tensor_count; ++i) {
    const nrt_tensor_info_t *t = &info->tensor_array[i];
    nrt_tensor_t *tensor = NULL;
    failed = check("nrt_tensor_allocate", nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0,
                                                              t->size, t->name, &tensor)) ||
             check("nrt_add_tensor_to_tensor_set",
                   nrt_add_tensor_to_tensor_set(sets[t->usage], t->name, tensor));
    if (!failed && t->usage == NRT_TENSOR_USAGE_INPUT)
      failed = fill_input(t, tensor, file_of(t->name, count, arguments));
  }
  if (!failed)
    failed = check("nrt_execute",
                   nrt_execute(model, sets[NRT_TENSOR_USAGE_INPUT], sets[NRT_TENSOR_USAGE_OUTPUT]));
  for (uint64_t i = 0; !failed && i < info->tensor_count; ++i)
    if (info->tensor_array[i].usage == NRT_TENSOR_USAGE_OUTPUT)
      failed = save_output(&info->tensor_array[i], sets[NRT_TENSOR_USAGE_OUTPUT]);
  nrt_free_model_tensor_info(info);
  return failed; /* nrt_close gives tensors and sets back */
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: run_model FILE.neff [INPUT=FILE ...]\n");
    return 2;
  }
  size_t size = 0;
  void *bytes = read_file(argv[1], &size);
  if (bytes == NULL)
    return 1;
  nrt_model_t *model = NULL;
  int failed = check("nrt_init", nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
  if (!failed) {
    failed =
        check("nrt_load", nrt_load(bytes, size, 0, -1, &model)) || run(model, argc - 2, argv + 2);
    if (model != NULL)
      failed = check("nrt_unload", nrt_unload(model)) || failed;
    nrt_close();
  }
  free(bytes);
  return failed;
}
