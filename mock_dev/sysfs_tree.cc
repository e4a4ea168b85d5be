// SPDX-License-Identifier: Apache-2.0
#include "mock_dev/sysfs_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "mock_dev/sysfs.h"

struct mock_sysfs_tree {
  std::string path;  // absolute: the process may change its directory
  bool made = false;
  pid_t owner = 0;  // a forked child shares the files, they are not its own to remove
  int root = -1;    // the directory
  int marker = -1;  // locked while the machine lives; tells our directories from others
  std::mutex lock;  // of what follows; taken before the device's
  std::vector<int64_t> values[NEURON_MAX_DEVICES];  // as written, in the order of mock_sysfs_live
};

namespace {

// A machine that died leaves its marker behind, unlocked.
constexpr char MARKER[] = ".neuron-mock";
constexpr char STAGING[] = ".neuron-mock-new";
constexpr char DMI_LINK[] = "sys/class/dmi/id";
constexpr char DEVICE_LINK[] = "sys/class/neuron_device/neuron";
constexpr char DEVICE_DIRECTORY[] = "sys/devices/virtual/neuron_device/neuron";

// A directory relative to the root, reached through no link.
int open_directory(const mock_sysfs_tree *tree, const std::string &path) {
  int at = dup(tree->root);
  for (size_t from = 0; at >= 0 && from < path.size();) {
    size_t end = std::min(path.find('/', from), path.size());
    int next = openat(at, path.substr(from, end - from).c_str(),
                      O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    close(at);
    at = next;
    from = end + 1;
  }
  return at;
}

// Removing files one after the other: neighbours share their directory.
struct sweep_t {
  const mock_sysfs_tree *tree;
  std::string directory;
  int at;  // negative: the directory is not there
};

// Removes the sweep's directory and those above it, as far as they are empty.
void sweep_leave(sweep_t *sweep) {
  if (sweep->at >= 0)
    close(sweep->at);
  for (bool gone = sweep->at >= 0; gone && !sweep->directory.empty();) {
    size_t end = sweep->directory.rfind('/');
    std::string name = sweep->directory.substr(end == std::string::npos ? 0 : end + 1);
    sweep->directory.resize(end == std::string::npos ? 0 : end);
    int parent = open_directory(sweep->tree, sweep->directory);
    gone = parent >= 0 && unlinkat(parent, name.c_str(), AT_REMOVEDIR) == 0;
    if (parent >= 0)
      close(parent);
  }
}

// Only a file where we make a file, and a link where we make a link.
void sweep_remove(sweep_t *sweep, const std::string &path, bool is_link) {
  size_t end = path.rfind('/');
  if (path.compare(0, end, sweep->directory) != 0) {
    sweep_leave(sweep);
    sweep->directory = path.substr(0, end);
    sweep->at = open_directory(sweep->tree, sweep->directory);
  }
  const char *name = path.c_str() + end + 1;
  struct stat now;
  if (sweep->at >= 0 && fstatat(sweep->at, name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISLNK(now.st_mode) == is_link)
    unlinkat(sweep->at, name, 0);
}

// Removes what a machine wrote, of whatever size it was; what others put there stays.
void remove_tree(const mock_sysfs_tree *tree) {
  uint32_t devices = 0;
  for (uint32_t d = 0; d < NEURON_MAX_DEVICES; ++d)
    if (faccessat(tree->root, (DEVICE_DIRECTORY + std::to_string(d)).c_str(), F_OK, 0) == 0)
      devices = d + 1;
  sweep_t sweep = {tree, "", -1};
  mock_sysfs_ref_t ref = {};
  do {
    char path[MOCK_SYSFS_PATH];
    mock_sysfs_path(&ref, path);
    sweep_remove(&sweep, path + 1, false);
  } while (mock_sysfs_next(devices, NEURON_MAX_CORES, &ref));
  sweep_remove(&sweep, DMI_LINK, true);
  for (uint32_t d = 0; d < devices; ++d)
    sweep_remove(&sweep, DEVICE_LINK + std::to_string(d), true);
  sweep_leave(&sweep);
  unlinkat(tree->root, STAGING, 0);
}

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
  tree->owner = getpid();
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
  bool left_behind = faccessat(tree->root, MARKER, F_OK, 0) == 0;
  if (!left_behind) {
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
  if (left_behind)  // whatever cannot be removed fails when it is written anew
    remove_tree(tree);
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
  } while (mock_sysfs_next(host->state->device_count, host->state->cores, &ref));
  const mock_sysfs_tree *tree = host->sysfs_tree;
  int rc = make_link(tree, DMI_LINK, "../../devices/virtual/dmi/id");
  for (uint32_t d = 0; d < host->state->device_count && rc == 0; ++d) {
    std::string number = std::to_string(d);
    rc = make_link(tree, DEVICE_LINK + number,
                   "../../devices/virtual/neuron_device/neuron" + number);
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
  bool mine = tree->owner == getpid();
  if (tree->marker >= 0 && mine) {
    remove_tree(tree);
    unlinkat(tree->root, MARKER, 0);
  }
  struct stat root, now;
  if (tree->made && mine && fstat(tree->root, &root) == 0 && lstat(tree->path.c_str(), &now) == 0 &&
      root.st_dev == now.st_dev && root.st_ino == now.st_ino)
    rmdir(tree->path.c_str());  // stays when somebody put something there
  for (int fd : {tree->marker, tree->root})
    if (fd >= 0)
      close(fd);
  delete tree;
}
