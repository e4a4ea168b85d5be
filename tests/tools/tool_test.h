// SPDX-License-Identifier: Apache-2.0
// Drives the built `neff`. Documents are judged by python3's parser.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <algorithm>
#include <functional>

#include "tests/neff/neff_test.h"
#include "tools/sample.h"

struct tool_result {
  int code;
  std::string out, err;
};

// One python for all questions of a test program: starting one for each takes most of the time.
class python_server {
 public:
  std::string ask(const std::string &question) {
    if (to_ == nullptr && !start())
      return "! no python3";
    std::string line = question;
    std::replace(line.begin(), line.end(), '\n', ' ');
    fprintf(to_, "%s\n", line.c_str());
    fflush(to_);
    char size[32];
    if (fgets(size, sizeof(size), from_) == nullptr)
      return "! python3 ended";
    std::string answer(strtoul(size, nullptr, 10), '\0');
    if (fread(answer.data(), 1, answer.size(), from_) != answer.size())
      return "! python3 ended";
    return answer;
  }
  ~python_server() {
    if (to_ == nullptr)
      return;
    fclose(to_);
    fclose(from_);
    waitpid(child_, nullptr, 0);
  }

 private:
  bool start() {
    static const char kServer[] = R"(
import json, sys
for line in sys.stdin:
    path, expression = line.rstrip('\n').split('\t', 1)
    try:
        d = json.loads(open(path, 'rb').read().decode('utf-8'))
        answer = str(eval(expression))
    except Exception as e:
        answer = '! ' + repr(e)
    answer = answer.encode('utf-8')
    sys.stdout.buffer.write(b'%d\n' % len(answer) + answer)
    sys.stdout.buffer.flush()
)";
    int down[2];
    int up[2];
    if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0)
      return false;
    child_ = fork();
    if (child_ == 0) {
      dup2(down[0], 0);
      dup2(up[1], 1);
      execlp("python3", "python3", "-c", kServer, static_cast<char *>(nullptr));
      _exit(127);
    }
    close(down[0]);
    close(up[1]);
    to_ = fdopen(down[1], "w");
    from_ = fdopen(up[0], "r");
    return child_ > 0 && to_ != nullptr && from_ != nullptr;
  }

  pid_t child_ = -1;
  FILE *to_ = nullptr;
  FILE *from_ = nullptr;
};

class ToolTest : public testing::Test {
 protected:
  // Runs `neff ARGUMENTS` with stdout and stderr apart.
  tool_result run(const std::string &arguments, const std::string &environment = "") {
    std::string command = fmt::format("{} {} {} >{} 2>{}", environment, NEFF_TOOL, arguments,
                                      dir / "stdout", dir / "stderr");
    int status = system(command.c_str());
    EXPECT_TRUE(WIFEXITED(status)) << command;
    auto text = [](const bytes_t &bytes) { return std::string(bytes.begin(), bytes.end()); };
    return {WEXITSTATUS(status), text(slurp(dir / "stdout")), text(slurp(dir / "stderr"))};
  }

  // What a python expression over the document `d` gives, as python prints it. Fails when the text
  // is not one valid document.
  std::string query(const std::string &document, const std::string &expression) {
    spit(dir / "document.json", text_bytes(document));
    std::string answer = python_.ask((dir / "document.json") + '\t' + expression);
    EXPECT_FALSE(answer.starts_with("!")) << answer << "\n" << document.substr(0, 500);
    return answer;
  }

  std::string sample(const neff_sample_options &options = {}, const std::string &name = "s.neff") {
    finding_sink findings;
    bytes_t bytes;
    EXPECT_EQ(neff_sample_build(options, findings, &bytes), NRT_SUCCESS);
    for (const finding &f : findings.all())
      ADD_FAILURE() << f.where << ": " << f.what;
    spit(dir / name, bytes);
    return dir / name;
  }

  // A sample with defects planted in its members.
  std::string broken(const std::function<void(neff_write_members &)> &edit) {
    neff_sample_options options;
    options.edit_members = edit;
    return sample(options, "broken.neff");
  }

  scratch_dir dir;

 private:
  inline static python_server python_;
};

inline std::vector<std::string> corpus_files() {
  std::vector<std::string> out;
  for (const char *name : {"matmul_small.neff", "matmul_large.neff", "attn_v6.neff"})
    if (!corpus(name).empty())
      out.push_back(corpus(name));
  return out;
}
