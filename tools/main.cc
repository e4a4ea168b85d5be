// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <algorithm>
#include <new>
#include <string_view>

#include "tools/commands.h"
#include "tools/predict.h"
#include "tools/run_options.h"
#include "tools/tool.h"

namespace {

// Numbers as people write them: decimal, or hexadecimal with 0x. CLI11's own reading would take a
// leading 0 for octal.

CLI::Validator is_number(uint64_t max = UINT64_MAX, uint64_t min = 0) {
  return CLI::Validator(
      [min, max](std::string &text) {
        uint64_t value = 0;
        if (!tool_parse_u64(text, &value) || value < min || value > max)
          return fmt::format("'{}' is not a number from {} to {} (decimal or 0x...)", text, min,
                             max);
        return std::string();
      },
      "NUMBER");
}

uint64_t to_number(const std::string &text) {
  uint64_t value = 0;
  tool_parse_u64(text, &value);
  return value;
}

// 32 hex digits, dashes ignored.
bool parse_uuid(std::string text, uint8_t uuid[16]) {
  std::erase(text, '-');
  if (text.size() != 32)
    return false;
  for (size_t i = 0; i < 16; i++) {
    uint64_t byte = 0;
    if (!tool_parse_u64("0x" + text.substr(2 * i, 2), &byte))
      return false;
    uuid[i] = static_cast<uint8_t>(byte);
  }
  return true;
}

// Everything the parser fills. Lives until the chosen command has run.
struct arguments {
  bool json = false;
  bool details = false;
  std::string file;
  std::vector<std::string> files;
  extract_arguments extract;
  pack_arguments pack;
  std::string lnc, features, num_tpb, version_major, pkg_version, uuid;
  bool no_compress = false;
  neff_sample_options sample;
  std::string cores, sample_data;
  machine_arguments machine;
  std::string machine_lnc;
  std::string variable, offset, size = "1";
  memory_arguments memory;
  bool no_profiling = false;
  run_options run;
  dis_arguments dis;
  asm_arguments assemble;
};

constexpr const char *kDashNames = "names that begin with '-': put -- before them, or use the id";

// The parser's own idea of an option's value ("TEXT:NUMBER") says nothing to a user.
class help_format : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option *option) const override {
    return option->get_option_text().empty() ? "" : " " + option->get_option_text();
  }
};

void add_json(CLI::App *command, bool *json) {
  command->add_flag("--json", *json, "Print one JSON document");
}

void add_file(CLI::App *command, std::string *file) {
  command->add_option("FILE", *file, "NEFF to read")->required();
}

void add_files(CLI::App *command, std::vector<std::string> *files) {
  command->add_option("FILE", *files, "NEFFs to read")->required();
}

void add_machine(CLI::App *command, arguments &a) {
  command
      ->add_option("--instance", a.machine.instance,
                   "Instance type to mock (default: NEURON_MOCK_INSTANCE, else by the file's "
                   "target)")
      ->option_text("TYPE");
  command->add_flag("--device", a.machine.device, "Place on the real device instead of the mock");
  command
      ->add_option("--core", a.machine.core,
                   "Logical core of the machine (default 0); -1: each file where the fewest models "
                   "are")
      ->default_val(0)
      ->check(CLI::Range(-1, 4095))
      ->option_text("N");
  command
      ->add_option("--lnc", a.machine_lnc,
                   "Physical cores per logical core (default: what the first file asks for)")
      ->check(is_number(8))
      ->option_text("N");
  add_json(command, &a.machine.json);
}

void add_container_commands(CLI::App &app, arguments &a) {
  CLI::App *info = app.add_subcommand("info", "What a NEFF says about itself");
  add_file(info, &a.file);
  add_json(info, &a.json);

  CLI::App *ls = app.add_subcommand("ls", "List members");
  add_file(ls, &a.file);
  ls->add_flag("-l,--long", a.details,
               "Each member's type too, the names that were dropped and totals");
  add_json(ls, &a.json);

  CLI::App *extract = app.add_subcommand("extract", "Extract members into a directory");
  add_file(extract, &a.extract.file);
  extract->add_option("MEMBER", a.extract.members,
                      "Names, or directories ending in '/' (default: all)");
  extract->add_option("-o,--output", a.extract.directory, "Directory to extract to, required")
      ->required()
      ->option_text("DIR");
  add_json(extract, &a.extract.json);

  CLI::App *verify = app.add_subcommand("verify", "Check everything, report all findings");
  add_files(verify, &a.files);
  add_json(verify, &a.json);
}

void add_write_commands(CLI::App &app, arguments &a) {
  CLI::App *pack = app.add_subcommand("pack", "Make a NEFF of a directory");
  pack->add_option("DIR", a.pack.directory,
                   "Directory laid out as the archive, as extract leaves it")
      ->required();
  pack->add_option("-o,--output", a.pack.output, "File to write, required")
      ->required()
      ->option_text("FILE");
  pack->add_option("--name", a.pack.options.name, "Model name, at most 255 bytes")
      ->option_text("NAME");
  pack->add_option("--lnc", a.lnc, "Logical core size (default: number of subgraphs)")
      ->check(is_number(8))
      ->option_text("N");
  pack->add_option("--features", a.features, "Feature bits (default: what the content calls for)")
      ->check(is_number())
      ->option_text("BITS");
  pack->add_option("--num-tpb", a.num_tpb, "TPBs (default 1)")
      ->check(is_number(255))
      ->option_text("N");
  pack->add_option("--version-major", a.version_major, "Container version (default 2)")
      ->check(is_number(2))
      ->option_text("N");
  pack->add_option("--pkg-version", a.pkg_version, "1: SHA-256, 2: MD5 (default)")
      ->check(is_number(2))
      ->option_text("N");
  pack->add_option("--uuid", a.uuid, "32 hex digits (default: derived from the content)")
      ->option_text("UUID");
  pack->add_flag("--no-compress", a.no_compress, "A bare tar as payload");
  pack->add_flag("--pad", a.pack.options.pad, "Pad the payload to a multiple of 10,240 bytes");
  pack->add_flag("--word-reversed-md5", a.pack.options.word_reversed_md5,
                 "Store the digest as newer compilers do");
  pack->add_flag("--force", a.pack.force, "Write content that a load would refuse, too");
  add_json(pack, &a.pack.json);

  CLI::App *sample = app.add_subcommand("sample", "Write a small NEFF with every kind of variable");
  sample->add_option("OUT", a.file, "File to write")->required();
  sample
      ->add_option("--cores", a.cores,
                   "Subgraphs: 1 or 2 (default 2; 1 for the targets sunda and mariana)")
      ->check(is_number(2, 1))
      ->option_text("N");
  sample->add_option("--target", a.sample.target, "sunda, cayman, mariana or * (default cayman)")
      ->option_text("TARGET");
  sample
      ->add_option(
          "--data", a.sample_data,
          "Write inputs for `run` and the output they give here: x.npy, y.npy, output0.npy")
      ->option_text("DIR");
  add_json(sample, &a.json);
}

void add_stream_options(CLI::App *command, int64_t *core, std::string *engine,
                        const std::string &otherwise) {
  command->add_option("--core", *core, "Physical core of the model (default: " + otherwise + ")")
      ->check(CLI::Range(0, 4095))
      ->option_text("N");
  command->add_option("--engine", *engine, "pe, act, pool, dve or sp (default: " + otherwise + ")")
      ->check(CLI::IsMember({"pe", "act", "pool", "dve", "sp"}).description(""))
      ->option_text("NAME");
}

void add_stream_commands(CLI::App &app, arguments &a) {
  CLI::App *dis = app.add_subcommand("dis", "Instruction streams as text");
  add_file(dis, &a.dis.file);
  add_stream_options(dis, &a.dis.core, &a.dis.engine, "all");
  dis->add_flag("--hex", a.dis.hex, "Each record's bytes, too");
  add_json(dis, &a.dis.json);

  CLI::App *assemble = app.add_subcommand("asm", "Instruction streams from text (isa/README.md)");
  assemble->add_option("PROGRAM", a.assemble.text, "Text as dis prints it")->required();
  assemble->add_option("-o,--output", a.assemble.output, "File to write, required")
      ->required()
      ->option_text("OUT");
  assemble
      ->add_option("--into", a.assemble.into,
                   "Write this NEFF with the text's streams in place of its own (default: OUT is "
                   "one bare stream)")
      ->option_text("FILE");
  add_stream_options(assemble, &a.assemble.core, &a.assemble.engine, "what the text says");
  add_json(assemble, &a.assemble.json);
}

void add_placement_commands(CLI::App &app, arguments &a) {
  CLI::App *plan = app.add_subcommand("plan", "Load NEFFs in order and show where everything lies");
  add_files(plan, &a.files);
  add_machine(plan, a);

  CLI::App *resolve = app.add_subcommand("resolve", "Device addresses of a place in a variable");
  add_file(resolve, &a.file);
  resolve->add_option("VAR", a.variable, fmt::format("Name or id of a variable; {}", kDashNames))
      ->required();
  resolve->add_option("OFFSET", a.offset, "Byte offset in the variable")
      ->required()
      ->check(is_number());
  resolve->add_option("SIZE", a.size, "Bytes accessed (default 1)")->check(is_number());
  add_machine(resolve, a);
}

void add_memory_command(CLI::App &app, arguments &a) {
  memory_arguments &memory = a.memory;
  CLI::App *command =
      app.add_subcommand("memory", "Bytes per class that NEFFs hold together in device memory");
  command
      ->add_option(
          "FILE", memory.files,
          "NEFFs to load together; FILE@N: on logical core N; a file given twice is loaded "
          "twice")
      ->required();
  command
      ->add_option("--as", memory.release,
                   "Predict what a release of the closed runtime would hold (" +
                       predict_releases() + ") instead of measuring this one")
      ->option_text("RELEASE");
  command->add_flag("--no-profiling", a.no_profiling,
                    "With --as: without the buffers of device profiling");
  command
      ->add_option("--tensor", memory.tensors,
                   "A device tensor: SIZE[K|M|G][@N] (powers of 1024), on logical core N; may be "
                   "repeated")
      ->option_text("SIZE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      ->add_option("--fit", memory.fit,
                   "Place everything on this mocked instance and say whether it fits and what is "
                   "left")
      ->option_text("TYPE");
  command->add_flag("--table", memory.table, "Text in the layout of the runtime's own reports");
  add_machine(command, a);
  command->get_option("--core")->description(
      "Logical core of files and tensors without @N (default 0)");
  command->get_option("--no-profiling")->needs(command->get_option("--as"));
  command->get_option("--as")->excludes(command->get_option("--device"));
  for (const char *other : {"--device", "--instance"})
    command->get_option("--fit")->excludes(command->get_option(other));
}

void add_run_command(CLI::App &app, arguments &a) {
  CLI::App *command = app.add_subcommand("run", "Execute a NEFF");
  add_file(command, &a.run.run.file);
  run_options_add(command, &a.run, is_number(), is_number(UINT32_MAX, 1));
  add_machine(command, a);
  command->get_option("--core")->description(
      "Logical core of the machine (default 0); -1: the first that is free");
  for (const char *other : {"--seed", "--strict", "--races", "--exact-functions", "--trace"})
    command->get_option("--device")->excludes(command->get_option(other));
}

// Compilers make variable names like "-t125_i0". In VAR's place a single dash that begins no known
// option begins a name: options go first, then "--", then everything else in its order.
std::vector<std::string> resolve_arguments(const CLI::App &resolve,
                                           const std::vector<std::string> &given) {
  std::vector<std::string> options = {given.front()};
  std::vector<std::string> places;
  for (size_t i = 1; i < given.size(); i++) {
    const std::string &word = given[i];
    if (word == "--") {
      places.insert(places.end(), given.begin() + static_cast<ptrdiff_t>(i) + 1, given.end());
      break;
    }
    if (word.size() < 2 || word[0] != '-') {
      places.push_back(word);
      continue;
    }
    const CLI::Option *known = resolve.get_option_no_throw(word.substr(0, word.find('=')));
    if (known == nullptr && word[1] != '-' && places.size() == 1) {
      places.push_back(word);
      continue;
    }
    options.push_back(word);
    bool takes_next = known != nullptr && known->get_items_expected_min() > 0;
    if (takes_next && word.find('=') == std::string::npos && i + 1 < given.size())
      options.push_back(given[++i]);
  }
  options.emplace_back("--");
  options.insert(options.end(), places.begin(), places.end());
  return options;
}

int run_pack(arguments &a) {
  pack_arguments &pack = a.pack;
  pack.options.compress = !a.no_compress;
  pack.lnc_given = !a.lnc.empty();
  pack.features_given = !a.features.empty();
  if (pack.lnc_given)
    pack.options.lnc_size = static_cast<uint32_t>(to_number(a.lnc));
  if (pack.features_given)
    pack.options.feature_bits = to_number(a.features);
  if (!a.num_tpb.empty())
    pack.options.num_tpb = static_cast<uint32_t>(to_number(a.num_tpb));
  if (!a.version_major.empty())
    pack.options.version_major = to_number(a.version_major);
  if (!a.pkg_version.empty())
    pack.options.pkg_version = to_number(a.pkg_version);
  if (!a.uuid.empty() && !parse_uuid(a.uuid, pack.options.uuid))
    return tool_usage(pack.json, fmt::format("--uuid: '{}' is not 32 hex digits", a.uuid));
  return command_pack(pack);
}

int dispatch(const CLI::App &app, arguments &a) {
  auto chosen = [&](const char *name) { return app.got_subcommand(name); };
  if (chosen("info"))
    return command_info(a.file, a.json);
  if (chosen("ls"))
    return command_ls(a.file, a.details, a.json);
  if (chosen("extract"))
    return command_extract(a.extract);
  if (chosen("verify"))
    return command_verify(a.files, a.json);
  if (chosen("dis"))
    return command_dis(a.dis);
  if (chosen("asm"))
    return command_asm(a.assemble);
  if (chosen("pack"))
    return run_pack(a);
  if (chosen("sample")) {
    bool single = a.sample.target == "sunda" || a.sample.target == "mariana";
    a.sample.cores = single ? 1 : 2;
    if (!a.cores.empty())
      a.sample.cores = static_cast<uint32_t>(to_number(a.cores));
    a.sample.program = true;
    return command_sample(a.sample, a.file, a.sample_data, a.json);
  }
  a.machine.lnc = static_cast<uint32_t>(to_number(a.machine_lnc));
  if (chosen("memory")) {
    a.memory.machine = a.machine;
    a.memory.profiling = !a.no_profiling;
    return command_memory(a.memory);
  }
  if (chosen("run"))
    return command_run(run_options_take(a.run, a.machine));
  if (chosen("plan"))
    return command_plan(a.files, a.machine);
  return command_resolve(a.file, a.variable, to_number(a.offset), to_number(a.size), a.machine);
}

constexpr const char *kFooter =
    "Exit codes: 0 ok, 1 findings or failure, 2 usage. Results go to standard output,\n"
    "diagnostics to standard error.";

// "info, ls, ..."
std::string command_names(const CLI::App &app) {
  std::string names;
  for (const CLI::App *command : app.get_subcommands({}))
    names += (names.empty() ? "" : ", ") + command->get_name();
  return names;
}

bool is_command(const CLI::App &app, const std::string &word) {
  return !app.get_subcommands([&](const CLI::App *command) { return command->get_name() == word; })
              .empty();
}

// Some word looks like an option of `resolve` and is none: perhaps it was meant as a name.
bool has_dash_name(const CLI::App &resolve, const std::vector<std::string> &words) {
  for (const std::string &word : words) {
    if (word == "--")
      break;
    if (word.size() > 1 && word[0] == '-' && (word[1] < '0' || word[1] > '9') &&
        resolve.get_option_no_throw(word.substr(0, word.find('='))) == nullptr)
      return true;
  }
  return false;
}

// What the parser gets to see. "help" and "help COMMAND" are --help.
std::vector<std::string> prepare(const CLI::App &app, std::vector<std::string> words) {
  if (words.empty())
    return words;
  if (words.front() == "help") {
    words.erase(words.begin());
    words.resize(std::min<size_t>(words.size(), 1));
    words.emplace_back("--help");
  }
  const CLI::App *resolve = app.get_subcommand("resolve");
  return words.front() == "resolve" ? resolve_arguments(*resolve, words) : words;
}

int run(int argc, char **argv) {
  tool_streams_init();
  tool_hold_errors();
  arguments a;
  CLI::App app("Reads, checks, writes, places and runs NEFF files.", "neff");
  app.formatter(std::make_shared<help_format>());
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.footer(kFooter);
  app.require_subcommand(1);
  app.set_version_flag("--version", "neff (opennrt) " OPENNRT_VERSION);
  add_container_commands(app, a);
  add_write_commands(app, a);
  add_stream_commands(app, a);
  add_placement_commands(app, a);
  add_memory_command(app, a);
  add_run_command(app, a);
  for (CLI::App *command : app.get_subcommands([](CLI::App *) { return true; }))
    command->group("Commands");

  std::vector<std::string> words = prepare(app, {argv + 1, argv + argc});
  bool json = std::find(words.begin(), words.end(), "--json") != words.end();
  if (!words.empty() && !words.front().starts_with('-') && !is_command(app, words.front()))
    return tool_finish(
        tool_usage(json, fmt::format("unknown command '{}'; commands are {}",
                                     tool_printable(words.front()), command_names(app))));
  try {
    std::vector<std::string> reversed(words.rbegin(), words.rend());
    app.parse(reversed);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() != 0) {
      std::string what = error.what();
      if (!words.empty() && words.front() == "resolve" &&
          has_dash_name(*app.get_subcommand("resolve"), words))
        what += fmt::format(" ({})", kDashNames);
      return tool_finish(tool_usage(json, what));
    }
    // --help and --version.
    std::ostringstream text;
    app.exit(error, text, text);
    tool_print(text.str());
    return tool_finish(TOOL_OK);
  }
  return tool_finish(dispatch(app, a));
}

}  // namespace

int main(int argc, char **argv) {
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc &) {
    fputs("neff: no host memory left\n", stderr);
  } catch (const std::exception &error) {
    tool_note(fmt::format("neff: {}\n", error.what()));
  }
  return TOOL_FINDINGS;
}
