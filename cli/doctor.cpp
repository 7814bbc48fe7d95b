// SPDX-License-Identifier: Apache-2.0
// `pando doctor`: what this build can do on this machine, and whether training works.
#include <pando/comm/workers.h>
#include <pando/program/program.h>
#include <pando/version.h>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <clocale>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/machine/cores.h"
#include "base/machine/usable_memory.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/machine.h"
#include "cli/output.h"
#include "cli/virtual_ipus.h"
#include "io/jpeg.h"
#include "io/probe.h"

namespace pando::cli {

namespace {

// One line of the answer.
struct Finding {
  std::string subject;
  // Whether it is there; a finding that only informs is always good.
  bool good = true;
  std::string text = {};
  // Whether training needs it.
  bool needed = false;
};

struct OptionalPart {
  const char* name;
  bool built_in;
  const char* use;
  const char* package;
};

#ifdef PANDO_WITH_ZLIB
constexpr bool has_zlib = true;
#else
constexpr bool has_zlib = false;
#endif
#ifdef PANDO_WITH_CURL
constexpr bool has_curl = true;
#else
constexpr bool has_curl = false;
#endif
#ifdef PANDO_WITH_CAIRO
constexpr bool has_cairo = true;
#else
constexpr bool has_cairo = false;
#endif

const OptionalPart optional_parts[] = {{"zlib", has_zlib, "gzipped files and PNG images", "zlib1g-dev"},
                                       {"libjpeg", can_read_jpeg(), "JPEG images", "libjpeg62-turbo-dev"},
                                       {"libcurl", has_curl, "downloads of data sets", "libcurl4-openssl-dev"},
                                       {"cairo", has_cairo, "pictures as PNG files", "libcairo2-dev"}};

std::string cgroups_of_this_process() {
  std::ifstream file("/proc/self/cgroup");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string gpu_words() {
  std::vector<std::string> words;
  for (const GpuInfo& gpu : gpus())
    words.push_back(fmt::format("{} ({}, {})", gpu.name, gpu.instruction_set, bytes_text(gpu.memory_bytes)));
  return join(words, ", ") + ", for the backend 'cuda'";
}

void add_machine(std::vector<Finding>& findings) {
  const int quota = quota_cores(cgroups_of_this_process(), "/sys/fs/cgroup");
  findings.push_back({.subject = "processor", .text = processor_name()});
  findings.push_back({.subject = "cores",
                      .text = fmt::format("{} of {} may be used{}", usable_cores(), all_cores(),
                                          quota > 0 ? fmt::format(", with a quota of {}", quota) : "")});
  findings.push_back({.subject = "memory", .text = fmt::format("{} may be used", bytes_text(usable_memory()))});
  findings.push_back(
      {.subject = "instructions",
       .text = fmt::format("{}; {}", join(available_instruction_sets(), ", "),
                           multiplies_bfloat16() ? "bfloat16 is fast" : "bfloat16 is not faster than float32")});
  findings.push_back({.subject = "GPU", .good = false, .text = why_no_gpu()});
  if (why_no_gpu().empty()) {
    findings.back() = {.subject = "GPU", .text = gpu_words()};
    const std::string problem = why_no_gpu_compiler();
    findings.push_back(
        {.subject = "NVRTC",
         .good = problem.empty(),
         .text = problem.empty() ? "kernels of small models are merged" : "kernels are not merged: " + problem});
    const std::string no_nccl = why_no_nccl();
    findings.push_back({.subject = "NCCL",
                        .good = no_nccl.empty(),
                        .text = no_nccl.empty()
                                    ? fmt::format("{}, adds up gradients of workers with a GPU each", nccl_version())
                                    : "sums of GPUs go through the host: " + no_nccl});
  }
  const std::string no_mpi = why_no_mpi();
  findings.push_back({.subject = "MPI", .good = no_mpi.empty(), .text = no_mpi.empty() ? "connects workers" : no_mpi});
}

void add_parts(std::vector<Finding>& findings) {
  for (const OptionalPart& part : optional_parts)
    findings.push_back(
        {.subject = part.name,
         .good = part.built_in,
         .text = part.built_in ? std::string(part.use)
                               : fmt::format("not built in, so no {}; build Pando with {}", part.use, part.package)});
}

void add_datasets(std::vector<Finding>& findings) {
  try {
    for (const datasets::Description& dataset : datasets::list()) {
      const bool is_here = dataset.is_drawn || !dataset.folder.empty();
      findings.push_back({.subject = dataset.name,
                          .good = is_here,
                          .text = dataset.is_drawn ? "drawn, needs no files"
                                  : is_here        ? dataset.folder
                                                   : fmt::format("not on this machine; '{} datasets fetch {}' gets it",
                                                                 program(), dataset.name)});
    }
  } catch (const Error& error) {
    findings.push_back({.subject = "data sets", .good = false, .text = error.what()});
  }
}

std::string terminal_words() {
  if (isatty(STDERR_FILENO) == 0) return "progress goes to a file or a pipe, as plain lines";
  winsize size = {};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  const char* kind = std::getenv("TERM");
  return fmt::format("{}, {}", kind == nullptr ? "of an unknown kind" : kind,
                     known ? fmt::format("{} columns", size.ws_col) : "of unknown width");
}

std::string locale_words() {
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(variable);
    if (value != nullptr && *value != '\0') return fmt::format("{} ({})", value, variable);
  }
  return "not set";
}

void add_surroundings(std::vector<Finding>& findings) {
  findings.push_back({.subject = "terminal", .text = terminal_words()});
  findings.push_back({.subject = "language", .text = locale_words()});
  Finding folder{.subject = "working folder", .text = "can be written", .needed = true};
  try {
    probe_folder("pando-runs");
  } catch (const Error& error) {
    folder = {.subject = "working folder", .good = false, .text = error.what(), .needed = true};
  }
  findings.push_back(folder);
}

// Trains a small model, as `pando train` would.
void add_training(std::vector<Finding>& findings) {
  Finding training{.subject = "training", .needed = true};
  try {
    constexpr std::int64_t images = 320;
    const VirtualIpus ipus(1, 0, "");
    const Samples samples = load_samples({.dataset = "synthetic_digits", .limit = images});
    OpenedModel opened = open_model("mlp", samples.kind);
    prepare_training(opened, {}, {.batch_size = 32, .steps_per_execution = 10});
    const keras::History history =
        opened.model.fit(samples.train.x, samples.train.y, {.batch_size = 32, .epochs = 3, .verbose = 0});
    const std::vector<double>& loss = history["loss"];
    training.good = loss.back() < loss.front();
    training.text = fmt::format("a small model {}: its loss went from {:.2f} to {:.2f}",
                                training.good ? "learns" : "does not learn", loss.front(), loss.back());
  } catch (const std::exception& error) {
    training.good = false;
    training.text = message_of(error);
  }
  findings.push_back(training);
}

}  // namespace

int doctor(const Arguments& arguments) {
  std::vector<Finding> findings;
  add_machine(findings);
  add_parts(findings);
  add_datasets(findings);
  add_surroundings(findings);
  add_training(findings);
  bool works = true;
  Table table({"pando " PANDO_VERSION, "", ""});
  Json list = Json::List();
  for (const Finding& finding : findings) {
    works = works && (finding.good || !finding.needed);
    table.add({finding.subject, finding.good ? "yes" : "no", finding.text});
    Json one;
    one.set("subject", finding.subject);
    one.set("good", finding.good);
    one.set("needed", finding.needed);
    one.set("text", finding.text);
    list.append(one);
  }
  if (arguments.flag("json")) {
    Json json;
    json.set("version", PANDO_VERSION);
    json.set("works", works);
    json.set("findings", list);
    print_json(json);
  } else {
    print(table.text() + (works ? "\nTraining works here.\n" : "\nTraining does not work here.\n"));
  }
  return works ? 0 : 1;
}

}  // namespace pando::cli
