// SPDX-License-Identifier: Apache-2.0
#include "tests/tools/tool_test.h"

using testing::HasSubstr;
using testing::Not;

TEST_F(ToolTest, ExitCodes) {
  std::string good = sample();
  EXPECT_EQ(run("--help").code, 0);
  EXPECT_EQ(run("--version").code, 0);
  EXPECT_THAT(run("--version").out, HasSubstr("opennrt"));
  for (const char *command : {"info", "ls", "extract", "pack", "verify", "plan", "resolve",
                              "memory", "sample", "dis", "asm"}) {
    EXPECT_EQ(run(std::string(command) + " --help").code, 0) << command;
    EXPECT_EQ(run(command).code, 2) << command;
  }
  EXPECT_EQ(run("").code, 2);
  EXPECT_EQ(run("frobnicate").code, 2);
  EXPECT_EQ(run("info --no-such-option " + good).code, 2);
  EXPECT_EQ(run("info " + good).code, 0);
  tool_result absent = run("info " + (dir / "absent"));
  EXPECT_EQ(absent.code, 1);
  EXPECT_EQ(absent.out, "");
  EXPECT_THAT(absent.err, HasSubstr("absent"));
  int full = system((std::string(NEFF_TOOL) + " info " + good + " >/dev/full 2>&1").c_str());
  EXPECT_EQ(WEXITSTATUS(full), 1);
}

TEST_F(ToolTest, UnknownCommandsAndHelp) {
  tool_result r = run("plna x");
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.out, "");
  EXPECT_THAT(r.err, HasSubstr("neff: unknown command 'plna'; commands are info, ls, "));
  r = run("plna --json");
  EXPECT_EQ(query(r.out, "d['error']['status']"), "usage");
  EXPECT_EQ(run("help").code, 0);
  EXPECT_EQ(run("help").out, run("--help").out);
  EXPECT_EQ(run("help resolve").out, run("resolve --help").out);
  EXPECT_EQ(run("help plna").code, 2);
  EXPECT_THAT(run("help").out, HasSubstr("Exit codes: 0 "));
  for (const char *command : {"info", "ls", "extract", "pack", "verify", "plan", "resolve",
                              "memory", "sample", "dis", "asm"}) {
    r = run(std::string("help ") + command);
    for (const char *jargon : {"TEXT", "NUMBER", ":INT", "REQUIRED"})
      EXPECT_THAT(r.out, Not(HasSubstr(jargon))) << command;
  }
}

TEST_F(ToolTest, UsageErrorsNameTheNumber) {
  std::string good = sample();
  for (const char *bad : {"-5", "x", "0x", "0xg", "1.5", "99999999999999999999", "''"}) {
    tool_result r = run("resolve " + good + " weights " + bad);
    EXPECT_EQ(r.code, 2) << bad;
    EXPECT_EQ(r.out, "");
  }
  // A leading zero is no octal.
  tool_result r = run("resolve " + good + " weights 010 --json");
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(query(r.out, "d['offset']"), "10");
  EXPECT_EQ(run("pack . -o x.neff --uuid 123").code, 2);
}

// One valid document on standard output, whatever happens, and nothing else.
TEST_F(ToolTest, JsonAlwaysIsOneDocument) {
  std::string good = sample();
  std::string bad = broken([](neff_write_members &members) { members.erase("neff.json"); });
  spit(dir / "short", bytes_t(100));
  spit(dir / "garbage", bytes_t(5000, 'g'));
  std::vector<std::string> files = {good,           bad,       dir / "short", dir / "garbage",
                                    dir / "absent", dir.path()};
  for (const std::string &file : files)
    for (std::string arguments :
         {"info --json " + file, "ls --json " + file, "ls -l --json " + file,
          "verify --json " + file, "plan --json " + file,
          "resolve --json --core 1 " + file + " weights 0", "memory --json " + file,
          "memory --json --as neuron-2.30 --fit trn2.3xlarge " + file,
          "extract --json -o " + (dir / "out") + " " + file}) {
      tool_result r = run(arguments, "NEURON_RT_LOG_LEVEL=TRACE");
      EXPECT_NE(r.code, 2) << arguments;
      EXPECT_EQ(query(r.out, "type(d).__name__"), "dict") << arguments;
      if (file == good) {
        EXPECT_EQ(r.code, 0) << arguments << r.err;
      }
    }
  tool_result usage = run("info --json");
  EXPECT_EQ(usage.code, 2);
  EXPECT_EQ(query(usage.out, "d['error']['status']"), "usage");
  EXPECT_EQ(run("info --json " + (dir / "absent")).code, 1);
}

TEST_F(ToolTest, NamesAreEscaped) {
  std::string odd = "sg00/\"quote\\back\nline\ttab\x01\xff\xc3\xb6";
  std::string file = broken([&](neff_write_members &members) { members[odd] = {}; });
  tool_result r = run("ls --json " + file);
  ASSERT_EQ(r.code, 0);
  EXPECT_EQ(query(r.out, "ascii([m['name'] for m in d['members'] if 'quote' in m['name']][0])"),
            "'sg00/\"quote\\\\back\\nline\\ttab\\x01\\ufffd\\xf6'");
  r = run("ls " + file);
  EXPECT_THAT(r.out, HasSubstr("\\x0aline\\x09tab\\x01"));
  EXPECT_THAT(r.out, Not(HasSubstr("back\nline")));
}

TEST_F(ToolTest, ListsWhatPythonLists) {
  REQUIRE_CORPUS(path, "attn_v6.neff");
  constexpr const char *kList = R"(
import io, sys, tarfile, zlib
data = open(sys.argv[1], 'rb').read()[1024:]
tar = tarfile.open(fileobj=io.BytesIO(zlib.decompressobj(31).decompress(data)))
for m in tar:
    print(m.size, m.name)
)";
  std::string expected = python(dir, kList, path);
  tool_result r = run("ls --json " + path);
  EXPECT_EQ(query(r.out, R"('\n'.join(f"{m['size']} {m['name']}" for m in d['members']))") + "\n",
            expected);
  // For people: the same, columns aligned, below one line of headings.
  r = run("ls " + path);
  std::istringstream lines(r.out);
  std::string line;
  std::getline(lines, line);
  std::string seen;
  while (std::getline(lines, line)) {
    line.erase(0, line.find_first_not_of(' '));
    seen += line.replace(line.find("  "), 2, " ") + "\n";
  }
  EXPECT_EQ(seen, expected);
}

TEST_F(ToolTest, InfoOfARealFile) {
  REQUIRE_CORPUS(path, "matmul_small.neff");
  tool_result r = run("info --json " + path);
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(query(r.out, "d['header']['uuid']"), "00a04c535fd94f07bffdd5eacdefc852");
  EXPECT_EQ(query(r.out, "d['header']['feature_bits']"), "0x209c00");
  EXPECT_EQ(query(r.out, "[f['bit'] for f in d['header']['features']]"), "[10, 11, 12, 15, 21]");
  EXPECT_EQ(query(r.out, "d['digest']['state'], d['digest']['form']"),
            "('ok', 'md5-word-reversed')");
  EXPECT_EQ(query(r.out, "d['archive']['members'], d['archive']['tar_bytes']"), "(72, 356864)");
  EXPECT_EQ(query(r.out, "d['kelf']['target'], d['kelf']['mac_count']"), "('cayman', 4194304)");
  EXPECT_EQ(query(r.out, "[(t['name'], t['size'], t['shape'], t['dtype']) for t in d['inputs']]"),
            "[('x', 65536, [128, 256], 'float16'), ('y', 65536, [256, 128], 'float16')]");
  EXPECT_EQ(query(r.out, "[(t['name'], t['size']) for t in d['outputs']]"), "[('output0', 32768)]");
  EXPECT_EQ(query(r.out, "[s['variables'] for s in d['subgraphs']][1]"),
            "{'MR_SB': 1, 'MR_BUFFER': 1, 'MR_INPUT': 2, 'MR_OUTPUT': 1, 'MR_PTR_TABLE': 1}");
  EXPECT_EQ(
      query(r.out, "[(e['engine'], e['instructions']) for e in d['subgraphs'][0]['engines']]"),
      "[('pe', 12), ('act', 5), ('pool', 7), ('dve', 2), ('sp', 3)]");
  r = run("info " + path);
  for (const char *text : {"00a04c535fd94f07bffdd5eacdefc852", "neff_feature_hardware_DGE",
                           "cayman", "output0", "MR_PTR_TABLE", "sg01/def.json"})
    EXPECT_THAT(r.out, HasSubstr(text));
}

TEST_F(ToolTest, InfoShowsWhatItCanOfABrokenFile) {
  std::string file = broken([](neff_write_members &members) {
    EXPECT_TRUE(
        neff_sample_replace(members, "sg00/def.json", "\"file-staged\"", "\"shape-shifter\""));
  });
  tool_result r = run("info " + file);
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.out, HasSubstr("sample.neff"));
  EXPECT_THAT(r.err, HasSubstr("shape-shifter"));
  r = run("info --json " + file);
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(query(r.out, "len(d['findings']), d['archive']['members']"), "(1, 31)");
}

TEST_F(ToolTest, ExtractAll) {
  std::string file = sample();
  tool_result r = run("extract " + file + " -o " + (dir / "out"));
  ASSERT_EQ(r.code, 0) << r.err;
  finding_sink findings;
  std::shared_ptr<const neff> opened;
  bytes_t bytes = slurp(file);
  ASSERT_EQ(neff_open(bytes, {}, findings, &opened), NRT_SUCCESS);
  size_t files = 0;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(dir / "out"))
    files += entry.is_regular_file() ? 1 : 0;
  EXPECT_EQ(files, opened->members.size());
  for (const auto &[name, member] : opened->members)
    EXPECT_EQ(slurp(dir / ("out/" + name)), bytes_t(member.begin(), member.end())) << name;
}

TEST_F(ToolTest, ExtractSome) {
  std::string file = sample();
  tool_result r = run("extract --json " + file + " neff.json sg01/ -o " + (dir / "out"));
  ASSERT_EQ(r.code, 0);
  EXPECT_EQ(query(r.out, "sorted({m.split('/')[0] for m in d['members']}), len(d['members'])"),
            "(['neff.json', 'sg01'], 15)");
  r = run("extract --json " + file + " neff.json nope -o " + (dir / "out2"));
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(query(r.out, "d['members'], d['findings'][0]['where']"), "(['neff.json'], 'nope')");
}

TEST_F(ToolTest, ExtractNeverLeavesTheDirectory) {
  std::string file = broken([&](neff_write_members &members) {
    members["../escaped"] = bytes_t(3);
    members["sg00/../../escaped"] = bytes_t(3);
    members[dir / "absolute"] = bytes_t(3);
    members["link/inside"] = bytes_t(3);
    members["filelink"] = bytes_t(3);
    members["a/./b//c"] = bytes_t(3);
  });
  std::filesystem::create_directories(dir / "out");
  std::filesystem::create_directories(dir / "elsewhere");
  spit(dir / "victim", text_bytes("precious"));
  std::filesystem::create_symlink("../elsewhere", dir / "out/link");
  std::filesystem::create_symlink("../victim", dir / "out/filelink");
  tool_result r = run("extract --json " + file + " -o " + (dir / "out"));
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(query(r.out, "len(d['findings'])"), "5");
  EXPECT_FALSE(std::filesystem::exists(dir / "escaped"));
  EXPECT_FALSE(std::filesystem::exists(dir / "absolute"));
  EXPECT_TRUE(std::filesystem::is_empty(dir / "elsewhere"));
  EXPECT_EQ(slurp(dir / "victim"), text_bytes("precious"));
  EXPECT_TRUE(std::filesystem::exists(dir / "out/a/b/c"));
  EXPECT_TRUE(std::filesystem::exists(dir / "out/neff.json"));
}

TEST_F(ToolTest, PackOfAnExtractVerifies) {
  std::vector<std::string> files = corpus_files();
  for (uint32_t cores : {1u, 2u}) {
    neff_sample_options options;
    options.cores = cores;
    files.push_back(sample(options, fmt::format("s{}.neff", cores)));
  }
  size_t i = 0;
  for (const std::string &file : files) {
    std::string tree = dir / fmt::format("tree{}", i++);
    ASSERT_EQ(run("extract " + file + " -o " + tree).code, 0);
    for (const char *options :
         {"", "--no-compress", "--pad --word-reversed-md5", "--pkg-version 1"}) {
      std::string packed = dir / "packed.neff";
      tool_result r = run(fmt::format("pack {} -o {} --json {}", tree, packed, options));
      ASSERT_EQ(r.code, 0) << r.err;
      EXPECT_EQ(r.err, "");
      EXPECT_EQ(run("verify " + packed).out, packed + ": ok\n");
      // Cores follow from the content.
      std::string facts = "d['header']['lnc_size'], len(d['subgraphs'])";
      EXPECT_EQ(query(run("info --json " + packed).out, facts),
                query(run("info --json " + file).out, facts));
      EXPECT_EQ(run("plan " + packed).code, 0) << file << options;
    }
  }
}

TEST_F(ToolTest, PackOptionsReachTheHeader) {
  ASSERT_EQ(run("extract " + sample() + " -o " + (dir / "tree")).code, 0);
  std::string packed = dir / "p.neff";
  tool_result r = run(
      "pack " + (dir / "tree") + " -o " + packed +
      " --name 'a name' --lnc 2 --features 0x209C00 --uuid 00112233-4455-6677-8899-aabbccddeeff");
  ASSERT_EQ(r.code, 0) << r.err;
  bytes_t file = slurp(packed);
  EXPECT_STREQ(reinterpret_cast<const char *>(file.data() + 220), "a name");
  EXPECT_EQ(file[552], 2);
  EXPECT_EQ(file[544] | file[545] << 8 | file[546] << 16, 0x209C00);
  EXPECT_EQ(file[204], 0x00);
  EXPECT_EQ(file[219], 0xFF);
  bytes_t again = file;
  ASSERT_EQ(run("pack " + (dir / "tree") + " -o " + (dir / "q.neff") + " --name 'a name' --lnc 2 " +
                "--features 0x209C00 --uuid 00112233445566778899aabbccddeeff")
                .code,
            0);
  EXPECT_EQ(slurp(dir / "q.neff"), file);
  EXPECT_EQ(run("pack " + (dir / "tree") + " -o " + packed + " --features 0x8000000").code, 1);
  EXPECT_EQ(slurp(packed), file);  // a refused pack leaves the old file alone
  std::filesystem::create_symlink("/etc/passwd", dir / "tree/out");
  r = run("pack --json " + (dir / "tree") + " -o " + (dir / "no.neff"));
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(query(r.out, "d['error']['findings'][0]['where']"), "out");
  EXPECT_FALSE(std::filesystem::exists(dir / "no.neff"));
}

TEST_F(ToolTest, PackRefusesWhatALoadWouldRefuse) {
  ASSERT_EQ(run("extract " + sample() + " -o " + (dir / "tree")).code, 0);
  std::filesystem::remove(dir / "tree/sg00/bias.bin");
  std::string packed = dir / "p.neff";
  tool_result r = run("pack --json " + (dir / "tree") + " -o " + packed);
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(query(r.out, "len(d['error']['findings']), d['error']['findings'][0]['where']"),
            "(1, 'sg00/def.json: var.bias.file_name')");
  EXPECT_FALSE(std::filesystem::exists(packed));
  r = run("pack --force " + (dir / "tree") + " -o " + packed);
  EXPECT_EQ(r.code, 0);
  EXPECT_THAT(r.err, HasSubstr("packed, but its content would be refused"));
  EXPECT_THAT(r.err, HasSubstr("bias.bin"));
  EXPECT_EQ(run("verify " + packed).code, 1);
}
