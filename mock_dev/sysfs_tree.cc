// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/sysfs_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "mock_dev/sysfs.h"

struct mock_sysfs_tree {
  std::string path;  // absolute: the process may change its directory
  bool made = false;
  int root = -1;    // the directory
  int marker = -1;  // locked while the machine lives; tells our directories from others
  std::mutex lock;  // of what follows; taken before the device's
  std::vector<int64_t> values[NEURON_MAX_DEVICES];  // as written, in the order of mock_sysfs_live
};

namespace {

// A machine that died leaves its marker behind, unlocked.
constexpr char MARKER[] = ".neuron-mock";
constexpr char STAGING[] = ".neuron-mock-new";

int is_empty(int directory) {
  int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *list = fd < 0 ? nullptr : fdopendir(fd);
  if (list == nullptr) {
    int error = errno;
    if (fd >= 0)
      close(fd);
    return -error;
  }
  bool empty = true;
  while (const dirent *entry = readdir(list))  // NOLINT(concurrency-mt-unsafe): our own stream
    empty = empty && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0);
  closedir(list);
  return empty ? 1 : 0;
}

int take_directory(mock_sysfs_tree *tree, const char *dir) {
  tree->path = dir;
  tree->made = mkdir(dir, 0755) == 0;
  if (!tree->made && errno != EEXIST)
    return -errno;
  tree->root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (tree->root < 0)
    return -errno;
  char *absolute = realpath(dir, nullptr);
  if (absolute == nullptr)
    return -errno;
  tree->path = absolute;
  free(absolute);
  if (faccessat(tree->root, MARKER, F_OK, 0) != 0) {
    int empty = is_empty(tree->root);
    if (empty <= 0)
      return empty == 0 ? -ENOTEMPTY : empty;
  }
  int marker = openat(tree->root, MARKER, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (marker < 0)
    return -errno;
  struct stat now;
  if (flock(marker, LOCK_EX | LOCK_NB) != 0 || fstat(marker, &now) != 0 || now.st_nlink == 0) {
    close(marker);
    return -EBUSY;
  }
  tree->marker = marker;
  std::error_code ignored;  // what cannot be removed fails when it is written anew
  std::filesystem::remove_all(tree->path + "/sys", ignored);
  unlinkat(tree->root, STAGING, 0);
  return 0;
}

// Makes the directories above the relative path `file`. `last` is the parent made last.
int make_parents(const mock_sysfs_tree *tree, const std::string &file, std::string *last) {
  std::string parent = file.substr(0, file.rfind('/'));
  if (parent == *last)
    return 0;
  *last = parent;
  for (size_t end = 0; end != std::string::npos;) {
    end = parent.find('/', end + 1);
    if (mkdirat(tree->root, parent.substr(0, end).c_str(), 0755) != 0 && errno != EEXIST)
      return -errno;
  }
  return 0;
}

// Makes the file `name`, which does not exist yet.
int make_file(const mock_sysfs_tree *tree, const char *name, uint32_t mode, const char *text,
              size_t size) {
  int fd = openat(tree->root, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0)
    return -errno;
  int rc = 0;
  ssize_t wrote = write(fd, text, size);
  if (wrote < 0)
    rc = -errno;
  else if (static_cast<size_t>(wrote) != size)
    rc = -ENOSPC;
  if (rc == 0 && fchmod(fd, mode & 0444) != 0)
    rc = -errno;
  close(fd);
  return rc;
}

// Replaces the file, or makes it in a new tree with the directories above it (`last`).
int write_node(mock_host *host, const mock_sysfs_ref_t *ref, std::string *last) {
  const mock_sysfs_tree *tree = host->sysfs_tree;
  char path[MOCK_SYSFS_PATH];
  char text[MOCK_SYSFS_TEXT];
  mock_sysfs_path(ref, path);
  const char *name = path + 1;  // below the root
  size_t size = mock_sysfs_show(host, ref, text);
  uint32_t mode = mock_sysfs_mode(ref);
  if (last != nullptr) {
    int rc = make_parents(tree, name, last);
    return rc != 0 ? rc : make_file(tree, name, mode, text, size);
  }
  int rc = make_file(tree, STAGING, mode, text, size);
  if (rc == 0 && renameat(tree->root, STAGING, tree->root, name) != 0)
    rc = -errno;
  if (rc != 0)
    unlinkat(tree->root, STAGING, 0);
  return rc;
}

int make_link(const mock_sysfs_tree *tree, const std::string &name, const std::string &target) {
  std::string last;
  int rc = make_parents(tree, name, &last);
  if (rc != 0)
    return rc;
  return symlinkat(target.c_str(), tree->root, name.c_str()) != 0 ? -errno : 0;
}

// Compares what a device's files hold with what they should.
struct comparison_t {
  std::vector<int64_t> *values;
  size_t at;
  std::vector<mock_sysfs_ref_t> changed;
};

void compare(void *user, const mock_sysfs_ref_t *ref, int64_t value) {
  auto *c = static_cast<comparison_t *>(user);
  if (c->at == c->values->size())
    c->values->push_back(value);
  int64_t *written = &(*c->values)[c->at++];
  if (*written != value) {
    *written = value;
    c->changed.push_back(*ref);
  }
}

int fill(mock_host *host) {
  for (uint32_t d = 0; d < host->state->device_count; ++d) {
    comparison_t first = {&host->sysfs_tree->values[d], 0, {}};
    mock_sysfs_live(host, d, compare, &first);
  }
  std::string last;
  mock_sysfs_ref_t ref = {};
  do {
    int rc = write_node(host, &ref, &last);
    if (rc != 0)
      return rc;
  } while (mock_sysfs_next(host, &ref));
  const mock_sysfs_tree *tree = host->sysfs_tree;
  int rc = make_link(tree, "sys/class/dmi/id", "../../devices/virtual/dmi/id");
  for (uint32_t d = 0; d < host->state->device_count && rc == 0; ++d) {
    std::string device = "neuron" + std::to_string(d);
    rc = make_link(tree, "sys/class/neuron_device/" + device,
                   "../../devices/virtual/neuron_device/" + device);
  }
  return rc;
}

}  // namespace

int mock_sysfs_tree_create(mock_host *host, const char *dir) {
  auto *tree = new (std::nothrow) mock_sysfs_tree;
  if (tree == nullptr)
    return -ENOMEM;
  host->sysfs_tree = tree;
  int rc = take_directory(tree, dir);
  if (rc == 0)
    rc = fill(host);
  if (rc != 0)
    mock_sysfs_tree_destroy(host);
  return rc;
}

void mock_sysfs_tree_update(mock_host *host, uint32_t device) {
  mock_sysfs_tree *tree = host->sysfs_tree;
  if (tree == nullptr)
    return;
  std::lock_guard<std::mutex> guard(tree->lock);
  comparison_t now = {&tree->values[device], 0, {}};
  mock_sysfs_live(host, device, compare, &now);
  for (const mock_sysfs_ref_t &ref : now.changed)
    write_node(host, &ref, nullptr);
}

void mock_sysfs_tree_destroy(mock_host *host) {
  mock_sysfs_tree *tree = host->sysfs_tree;
  host->sysfs_tree = nullptr;
  if (tree == nullptr)
    return;
  if (tree->marker >= 0) {  // ours
    std::error_code ignored;
    std::filesystem::remove_all(tree->path + "/sys", ignored);
    unlinkat(tree->root, MARKER, 0);
    close(tree->marker);
  }
  if (tree->root >= 0)
    close(tree->root);
  if (tree->made)
    rmdir(tree->path.c_str());  // stays when somebody put something there
  delete tree;
}
