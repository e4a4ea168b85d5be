// SPDX-License-Identifier: Apache-2.0
// nrt_load of libnrt.so.1, as a program calls it, against what nobody can do without: parsing the
// JSON, inflating the payload. Processor time of all threads, memory from the kernel's own mark.
#include <fmt/format.h>
#include <nrt/nrt.h>
#include <simdjson.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <cstring>

#include "bench/harness.h"
#include "bench/model.h"

namespace {

constexpr size_t kHeader = 1024;
constexpr double kMiB = 1024 * 1024;

struct measured {
  double seconds;
  double peak_mib;  // of the process so far
};

double peak_mib() {
  double kib = 0;
  FILE *status = fopen("/proc/self/status", "r");
  char line[256];
  while (status != nullptr && fgets(line, sizeof(line), status) != nullptr) {
    if (strncmp(line, "VmHWM:", 6) == 0)
      kib = strtod(line + 6, nullptr);
  }
  if (status != nullptr)
    fclose(status);
  return kib / 1024;
}

double process_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// Runs `work` in a process of its own: fresh memory, a mark of its own.
template <typename Work>
measured in_child(Work work) {
  int ends[2];
  if (pipe(ends) != 0)
    bench_die("no pipe");
  pid_t child = fork();
  if (child < 0)
    bench_die("no process");
  if (child == 0) {
    close(ends[0]);
    measured m = work();
    bool ok = write(ends[1], &m, sizeof(m)) == static_cast<ssize_t>(sizeof(m));
    _exit(ok ? 0 : 2);
  }
  close(ends[1]);
  measured m{};
  ssize_t got = read(ends[0], &m, sizeof(m));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (got != static_cast<ssize_t>(sizeof(m)) || status != 0)
    bench_die("a measurement failed");
  return m;
}

void start_runtime() {
  if (nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", "") != NRT_SUCCESS)
    bench_die("nrt_init failed");
}

double load_seconds(const std::vector<uint8_t> &file) {
  nrt_model_t *model = nullptr;
  double start = process_seconds();
  NRT_STATUS status = nrt_load(file.data(), file.size(), -1, -1, &model);
  double seconds = process_seconds() - start;
  if (status != NRT_SUCCESS)
    bench_die(fmt::format("nrt_load answers {}", static_cast<int>(status)));
  if (nrt_unload(model) != NRT_SUCCESS)
    bench_die("nrt_unload failed");
  return seconds;
}

measured load_once(const std::string &path) {
  std::vector<uint8_t> file = bench_read_file(path);
  start_runtime();
  double seconds = load_seconds(file);
  return {seconds, peak_mib()};
}

measured parse_once(const std::string &path) {
  std::vector<uint8_t> text = bench_read_file(path);
  size_t size = text.size();
  text.resize(size + simdjson::SIMDJSON_PADDING);
  double start = process_seconds();
  simdjson::dom::parser parser;
  if (parser.parse(text.data(), size, false).error() != simdjson::SUCCESS)
    bench_die("def.json does not parse");
  return {process_seconds() - start, peak_mib()};
}

void make_million(const std::string &directory) {
  in_child([&] {
    std::string def = bench_million_def();
    bench_write_file(directory + "/def.json", def.data(), def.size());
    for (bool compress : {false, true}) {
      std::vector<uint8_t> file = bench_million_neff(def, compress);
      bench_write_file(directory + (compress ? "/million.neff" : "/million-bare.neff"), file.data(),
                       file.size());
    }
    return measured{};
  });
}

void million(const std::string &directory) {
  make_million(directory);
  std::vector<double> peaks;
  std::vector<bench_side> sides = {
      {"simdjson, def.json",
       [&] { return in_child([&] { return parse_once(directory + "/def.json"); }).seconds; }},
      {"bare",
       [&] {
         measured m = in_child([&] { return load_once(directory + "/million-bare.neff"); });
         peaks.push_back(m.peak_mib);
         return m.seconds;
       }},
      {"gzip", [&] {
         measured m = in_child([&] { return load_once(directory + "/million.neff"); });
         peaks.push_back(m.peak_mib);
         return m.seconds;
       }}};
  bench_interleave(&sides);
  for (size_t i : {1u, 2u}) {
    bench_result result = bench_compare(
        fmt::format("load of 1000000 variables, {} tar", sides[i].name), "s", sides[i], sides[0]);
    result.bound = bench_bound::at_most;
    result.target = 8;
    bench_report(result);
    std::vector<double> of_side;
    for (size_t k = i - 1; k < peaks.size(); k += 2)
      of_side.push_back(peaks[k]);
    bench_result memory{};
    memory.name = fmt::format("peak memory of it, {} tar", sides[i].name);
    memory.unit = "GiB";
    memory.value = memory.ratio = bench_median(of_side) / 1024;
    memory.bound = bench_bound::at_most;
    memory.target = 1.5;
    bench_report(memory);
  }
}

double inflate_seconds(const std::vector<uint8_t> &file, uint8_t *out, size_t capacity) {
  z_stream stream{};
  double start = process_seconds();
  if (inflateInit2(&stream, MAX_WBITS + 16) != Z_OK)
    bench_die("zlib does not start");
  stream.next_in = const_cast<uint8_t *>(file.data() + kHeader);
  stream.avail_in = static_cast<uInt>(file.size() - kHeader);
  stream.next_out = out;
  stream.avail_out = static_cast<uInt>(capacity);
  int result = inflate(&stream, Z_FINISH);
  inflateEnd(&stream);
  double seconds = process_seconds() - start;
  if (result != Z_STREAM_END)
    bench_die("the payload does not inflate");
  return seconds;
}

void corpus() {
  const char *directory = getenv("OPENNRT_CORPUS");
  std::string path = std::string(directory != nullptr ? directory : "") + "/matmul_large.neff";
  if (directory == nullptr || access(path.c_str(), R_OK) != 0) {
    fmt::print(stderr, "bench: load of matmul_large.neff skipped: no corpus (OPENNRT_CORPUS)\n");
    return;
  }
  std::vector<uint8_t> file = bench_read_file(path);
  bench_buffer out(64 << 20);
  start_runtime();
  std::vector<bench_side> sides = {
      {"zlib, its payload", [&] { return 1e3 * inflate_seconds(file, out.data(), 64 << 20); }},
      {"opennrt", [&] { return 1e3 * load_seconds(file); }}};
  bench_interleave(&sides);
  bench_result result = bench_compare("load of matmul_large.neff", "ms", sides[1], sides[0]);
  result.bound = bench_bound::at_most;
  result.target = 2.5;
  bench_report(result);
}

}  // namespace

int main(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[1], "million") == 0)
    million(argv[2]);
  else if (argc == 2 && strcmp(argv[1], "corpus") == 0)
    corpus();
  else
    bench_die("usage: bench_load million DIRECTORY | corpus");
  return 0;
}
