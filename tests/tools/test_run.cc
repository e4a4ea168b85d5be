// SPDX-License-Identifier: Apache-2.0
// `neff run`: arguments and inputs.
#include <cstring>

#include "tests/tools/tool_test.h"
#include "tools/npy.h"

using testing::HasSubstr;
using testing::Not;

namespace {

class RunTest : public ToolTest {
 protected:
  // A .npy file of this type and shape, zeros.
  std::string npy(const std::string &name, char kind, uint32_t item_size,
                  std::vector<uint64_t> shape) {
    npy_array array;
    array.kind = kind;
    array.item_size = item_size;
    array.shape = shape;
    uint64_t count = 1;
    for (uint64_t extent : shape)
      count *= extent;
    bytes_t data(count * item_size), file;
    array.data = data;
    finding_sink findings;
    EXPECT_EQ(npy_write(array, name, findings, &file), NRT_SUCCESS);
    spit(dir / name, file);
    return dir / name;
  }

  void expect_refused(const std::string &arguments, const std::string &what, int code = 1) {
    tool_result r = run("run " + arguments);
    EXPECT_EQ(r.code, code) << arguments << r.err;
    EXPECT_THAT(r.err, HasSubstr(what)) << arguments;
    EXPECT_EQ(r.out, "") << arguments;
  }
};

}  // namespace

TEST_F(RunTest, MissingInputsAreNamed) {
  expect_refused(sample(), "nothing given for x, y; --zeros or --random fills what is missing");
  expect_refused(sample() + " --input x=zeros", "nothing given for y;");
}

TEST_F(RunTest, UnknownNamesAreRefused) {
  expect_refused(sample() + " --zeros --input z=zeros",
                 "--input: the model has no input 'z'; it has x, y");
  expect_refused(sample() + " --zeros --output x=o.npy",
                 "--output: the model has no output 'x'; it has output0");
  expect_refused(sample() + " --zeros --compare y=o.npy", "--compare: the model has no output 'y'");
  expect_refused(sample() + " --zeros --input o.npy=zeros",
                 "--input: the model has no input 'o.npy'; it has x, y");
}

TEST_F(RunTest, BadArgumentsAreUsageErrors) {
  std::string file = sample();
  for (const char *arguments :
       {"--input x", "--input x.npy", "--input =x",
        "--output raw:", "--output output0=", "--compare output0", "--repeat 0", "--repeat x",
        "--seed -1", "--rtol 0.1", "--zeros --random", "--core -2", "--device --races",
        "--input x=zeros --input x=random", "--compare output0=a.npy --rtol -1",
        "--compare output0=a.npy --atol nan", "--device --trace t.json"})
    EXPECT_EQ(run("run " + file + " " + arguments).code, 2) << arguments;
}

TEST_F(RunTest, AssignmentsThatAreNoneNameTheOption) {
  std::string file = sample();
  expect_refused(file + " --input x.npy", "--input: 'x.npy' is not NAME=FILE.npy, NAME=raw:FILE, ",
                 2);
  expect_refused(file + " --zeros --output o.bin",
                 "--output: 'o.bin' is not NAME=FILE.npy or NAME=raw:FILE", 2);
  expect_refused(file + " --zeros --compare output0", "--compare: 'output0' is not NAME=FILE.npy",
                 2);
}

TEST_F(RunTest, InputFilesMustFit) {
  std::string file = sample();
  expect_refused(file + " --zeros --input x=" + npy("a.npy", 'f', 4, {128, 64}),
                 "elements <f4; 'x' is float16: float16 is read");
  expect_refused(file + " --zeros --input x=" + npy("b.npy", 'f', 2, {64, 128}),
                 "shape [64, 128]; 'x' has [128, 64]");
  expect_refused(file + " --zeros --input y=" + npy("c.npy", 'i', 4, {4, 64}),
                 "elements <i4; 'y' is float32: float32 is read");
  spit(dir / "short.bin", bytes_t(100));
  expect_refused(file + " --zeros --input x=raw:" + (dir / "short.bin"),
                 "100 bytes; 'x' has 16384");
  spit(dir / "no.npy", bytes_t(100));
  expect_refused(file + " --zeros --input x=" + (dir / "no.npy"), "no.npy");
  expect_refused(file + " --zeros --input x=" + (dir / "none.npy"), "none.npy");
  expect_refused(file + " --zeros --input x=random:many", "random:SEED takes a number");
}

// Whatever only the end of a run needs is checked before it.
TEST_F(RunTest, OutputAndReferenceFilesAreCheckedFirst) {
  std::string file = sample() + " --zeros";
  std::string nowhere = dir / "none/out.npy";
  for (const char *option : {"--output output0=", "--output output0=raw:", "--trace "})
    expect_refused(file + " " + option + nowhere, nowhere + ": cannot be created: No such file");
  expect_refused(file + " --output output0=" + (dir / "."), "a directory, not a file");
  expect_refused(file + " --compare output0=" + (dir / "none.npy"), "none.npy");
  expect_refused(file + " --compare output0=" + npy("short.npy", 'f', 4, {128, 63}),
                 "shape [128, 63]; 'output0' has [128, 64]");
  std::string out = dir / "out.npy";
  expect_refused(file + " --output output0=" + out + " --compare output0=" + (dir / "none.npy"),
                 "none.npy");
  EXPECT_FALSE(std::filesystem::exists(out));
  EXPECT_EQ(run("run " + file + " --output output0=raw:/dev/null --trace /dev/null").code, 0);
}

// The runtime speaks of its variables; who typed an option has to find it in the line.
TEST_F(RunTest, LinesAboutTheMachineNameTheOption) {
  std::string file = sample() + " --zeros";
  expect_refused(file + " --core 99", "device for the file's logical cores of 2, --core 99: ");
  expect_refused(file + " --instance inf2.xlarge",
                 "device for --instance inf2.xlarge, the file's logical cores of 2: ");
  expect_refused(file + " --lnc 7", "device for --lnc 7: ");
}

TEST_F(RunTest, MachinesThatDoNotFit) {
  std::string file = sample();
  EXPECT_EQ(run("run --zeros " + file + " --instance nothing").code, 1);
  expect_refused(file + " --zeros --core 99", "99");
  expect_refused(file + " --zeros --device", "no Neuron device");
  expect_refused(dir / "none.neff", "none.neff");
}

TEST_F(RunTest, ErrorsAreADocumentToo) {
  tool_result r = run("run --json " + sample());
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(query(r.out, "d['error']['status']"), "NRT_INVALID");
  EXPECT_THAT(query(r.out, "d['error']['findings'][0]['what']"), HasSubstr("x, y"));
}

namespace {

class RunSample : public RunTest {
 protected:
  // The sample with its program, and data beside it: x.npy, y.npy, output0.npy.
  std::string runnable(const std::string &options = "") {
    tool_result r = run("sample " + (dir / "r.neff") + " --data " + dir.path() + " " + options);
    EXPECT_EQ(r.code, 0) << r.err;
    return fmt::format("{} --input x={} --input y={} ", dir / "r.neff", dir / "x.npy",
                       dir / "y.npy");
  }
};

}  // namespace

TEST_F(RunSample, OutputIsThatOfTheFormula) {
  for (const char *options : {"", "--cores 1", "--target sunda"}) {
    std::string arguments = runnable(options);
    tool_result r = run("run --json " + arguments + " --compare output0=" + (dir / "output0.npy"));
    EXPECT_EQ(r.code, 0) << options << r.err;
    EXPECT_EQ(query(r.out, "d['execution']['status'], d['runs'], d['backend']"),
              "('NRT_SUCCESS', 1, 'mock')");
    EXPECT_EQ(query(r.out, "[(c['elements'], c['different']) for c in d['comparisons']]"),
              "[(8192, 0)]");
  }
}

// The formula itself, worked out from the files by another program.
TEST_F(RunSample, ReferenceIsXTimesYPlusWeights) {
  std::string arguments = runnable();
  ASSERT_EQ(run("extract " + (dir / "r.neff") + " -o " + (dir / "m")).code, 0);
  constexpr const char *kCheck = R"(
import struct, sys
d = sys.argv[1]
body = lambda path: open(path, 'rb').read()[-16384 * (2 if 'output' in path else 1):]
x = struct.unpack('<8192e', body(d + '/x.npy'))
y = struct.unpack('<64f', open(d + '/y.npy', 'rb').read()[-1024:][:256])
w = [open(d + '/m/sg0%d/weights.npy' % c, 'rb').read()[-4096:] for c in (0, 1)]
out = struct.unpack('<8192f', body(d + '/output0.npy'))
want = [x[r * 64 + c] * y[c] + w[c // 32][r * 32 + c % 32] for r in range(128) for c in range(64)]
print(list(out) == want)
)";
  EXPECT_EQ(python(dir, kCheck, dir.path()), "True\n");
}

TEST_F(RunSample, WritesOutputsThatCompareEqual) {
  std::string arguments = runnable();
  tool_result r = run("run " + arguments + "--output output0=" + (dir / "out.npy") +
                      " --output output0=raw:" + (dir / "out.bin"));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("Device: mock trn2.3xlarge"));
  EXPECT_EQ(slurp(dir / "out.npy"), slurp(dir / "output0.npy"));
  bytes_t npy = slurp(dir / "out.npy"), raw = slurp(dir / "out.bin");
  ASSERT_EQ(raw.size(), 32768u);
  EXPECT_TRUE(std::equal(raw.begin(), raw.end(), npy.end() - 32768));
}

TEST_F(RunSample, ADifferenceIsFoundAndNamed) {
  std::string arguments = runnable();
  bytes_t reference = slurp(dir / "output0.npy");
  float value;
  size_t place = reference.size() - 32768 + 4 * (64 * 3 + 5);
  memcpy(&value, &reference[place], 4);
  float changed = value + 2;
  memcpy(&reference[place], &changed, 4);
  spit(dir / "ref.npy", reference);
  std::string compare = arguments + "--compare output0=" + (dir / "ref.npy");
  tool_result r = run("run " + compare);
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.out, HasSubstr("1 of 8192 differ, largest difference 2 absolute"));
  EXPECT_THAT(r.out, HasSubstr("first at [3, 5]:"));
  EXPECT_EQ(run("run " + compare + " --atol 1.9").code, 1);
  EXPECT_EQ(run("run " + compare + " --atol 2").code, 0);
  // The only output needs no name.
  r = run("run " + arguments + "--compare " + (dir / "ref.npy") + " --output " + (dir / "o.npy"));
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.out, HasSubstr("1 of 8192 differ"));
  EXPECT_EQ(slurp(dir / "o.npy"), slurp(dir / "output0.npy"));
}

TEST_F(RunSample, RepeatsSeedsAndRandomInputs) {
  std::string arguments = runnable();
  tool_result r = run("run --json --repeat 5 --seed 7 " + arguments +
                      "--compare output0=" + (dir / "output0.npy"));
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(query(r.out, "d['runs'], d['host_seconds']['least'] > 0"), "(5, True)");
  std::string random = "run " + (dir / "r.neff") + " --random --output output0=";
  ASSERT_EQ(run(random + (dir / "a.npy")).code, 0);
  ASSERT_EQ(run(random + (dir / "b.npy") + " --input y=random:0").code, 0);
  ASSERT_EQ(run(random + (dir / "c.npy") + " --input y=random:1").code, 0);
  EXPECT_EQ(slurp(dir / "a.npy"), slurp(dir / "b.npy"));
  EXPECT_NE(slurp(dir / "a.npy"), slurp(dir / "c.npy"));
}

TEST_F(RunSample, CountsAndTrace) {
  std::string arguments = runnable();
  tool_result r = run("run --json " + arguments + "--trace " + (dir / "t.json"));
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(query(r.out,
                  "[e['opcodes'].get('0x47') for c in d['cores'] for e in c['engines'] if "
                  "e['engine'] == 'dve']"),
            "[2, 2]");
  bytes_t trace = slurp(dir / "t.json");
  std::string text(trace.begin(), trace.end());
  EXPECT_EQ(query(text, "len([e for e in d['traceEvents'] if e['name'] == 'CAST'])"), "4");
  EXPECT_EQ(query(text,
                  "sorted({e['args']['name'] for e in d['traceEvents'] if e['name'] == "
                  "'process_name'})"),
            "['device 0, core 0', 'device 0, core 1']");
  EXPECT_EQ(query(text,
                  "all(e['dur'] >= 0 and e['ts'] >= 0 for e in d['traceEvents'] if e['ph'] "
                  "== 'X')"),
            "True");
  // What follows waits for what came before.
  EXPECT_EQ(query(text,
                  "all(a['ts'] <= b['ts'] for p in (0, 1) for l in [[e for e in "
                  "d['traceEvents'] if e['name'] in ('CAST', 'TENSOR_TENSOR') and e['pid'] "
                  "== p]] for a, b in zip(l, l[1:]))"),
            "True");
}

namespace {

class RunProgram : public RunSample {
 protected:
  // examples/double.s with one text in it replaced by another, in the sample: p.neff.
  void assemble(const std::string &from = "", const std::string &to = "") {
    runnable();
    bytes_t bytes = slurp(EXAMPLES "/double.s");
    std::string text(bytes.begin(), bytes.end());
    for (size_t at = 0; !from.empty(); at += to.size()) {
      size_t found = text.find(from, at);
      if (found == std::string::npos) {
        ASSERT_NE(at, 0u) << from;
        break;
      }
      text.replace(found, from.size(), to);
      at = found;
    }
    spit(dir / "p.s", text_bytes(text));
    tool_result r =
        run("asm " + (dir / "p.s") + " --into " + (dir / "r.neff") + " -o " + (dir / "p.neff"));
    ASSERT_EQ(r.code, 0) << r.err;
  }
};

}  // namespace

TEST_F(RunProgram, ExampleDoubles) {
  assemble();
  for (int seed : {0, 1, 2}) {
    tool_result r =
        run(fmt::format("run {} --zeros --input x={} --output {} --races --strict "
                        "--seed {}",
                        dir / "p.neff", dir / "x.npy", dir / "o.npy", seed));
    ASSERT_EQ(r.code, 0) << r.err;
    constexpr const char *kCheck = R"(
import struct, sys
x = struct.unpack('<8192e', open(sys.argv[1] + '/x.npy', 'rb').read()[-16384:])
out = struct.unpack('<8192f', open(sys.argv[1] + '/o.npy', 'rb').read()[-32768:])
print(any(x) and [2 * v for v in x] == list(out))
)";
    EXPECT_EQ(python(dir, kCheck, dir.path()), "True\n") << seed;
  }
}

// Each line of a deadlock's report is a line of the tool's, too.
TEST_F(RunProgram, ADeadlockIsToldLineByLine) {
  assemble("wait sem24>=16", "wait sem24>=17");
  tool_result r = run("run --zeros " + (dir / "p.neff"));
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("deadlock, nothing can move [NRT_TIMEOUT]\n"));
  EXPECT_THAT(r.err, HasSubstr("dve slot 0 TENSOR_SCALAR waits for semaphore 24 >= 17, it is 16 "
                               "[NRT_TIMEOUT]\n"));
  EXPECT_THAT(r.err, Not(HasSubstr("\\x0a")));
  r = run("run --json --zeros " + (dir / "p.neff"));
  EXPECT_THAT(query(r.out, "d['execution']['what'].split('\\n')[4]"),
              HasSubstr("dve slot 0 TENSOR_SCALAR waits for semaphore 24"));
}

TEST_F(RunProgram, AMissingWaitIsARace) {
  assemble("wait sem24>=16, ", "");
  tool_result r = run("run --zeros --races --seed 2 " + (dir / "p.neff"));
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("read by dve slot 0 TENSOR_SCALAR (core 0, dve) and write by pool "
                               "slot 0 DMAMEMCPY (core 0, pool) are not ordered"));
}
