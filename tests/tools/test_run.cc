// SPDX-License-Identifier: Apache-2.0
// `neff run`: arguments and inputs.
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
}

TEST_F(RunTest, BadArgumentsAreUsageErrors) {
  std::string file = sample();
  for (const char *arguments :
       {"--input x", "--input =x", "--output output0=", "--compare output0", "--repeat 0",
        "--repeat x", "--seed -1", "--rtol 0.1", "--zeros --random", "--core -2",
        "--device --races", "--input x=zeros --input x=random", "--compare output0=a.npy --rtol -1",
        "--compare output0=a.npy --atol nan", "--device --trace t.json"})
    EXPECT_EQ(run("run " + file + " " + arguments).code, 2) << arguments;
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
