// SPDX-License-Identifier: Apache-2.0
#include "cli/model_place.h"

#include <pando/frontends/keras/saving.h>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <ctime>
#include <filesystem>

#include "base/paths.h"
#include "io/probe.h"

namespace pando::cli {

namespace {

constexpr const char* runs_folder = "pando-runs";

// The same path, however the folder is named.
std::string absolute(const std::string& folder) {
  if (folder.empty()) return "";
  std::error_code error;
  const std::filesystem::path path = std::filesystem::weakly_canonical(std::filesystem::absolute(folder, error), error);
  return error ? folder : path.string();
}

// The last part of the path of a data set, with only characters that need no quotes in a shell.
std::string plain_name(const std::string& dataset) {
  std::string name = std::filesystem::path(dataset).lexically_normal().filename().string();
  if (name.empty()) name = "samples";
  for (char& c : name)
    if (std::strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.", c) == nullptr) c = '_';
  return name.substr(0, 60);
}

// Makes the folder pando-runs/MODEL-DATASET-DATE-TIME, with a number after it if another run in the same second has
// that name.
std::string make_run_folder(const std::string& model, const std::string& dataset) {
  std::error_code error;
  std::filesystem::create_directories(runs_folder, error);
  const std::time_t now = std::time(nullptr);
  std::tm local = {};
  localtime_r(&now, &local);
  const std::string name =
      fmt::format("{}/{}-{}-{:%Y%m%d-%H%M%S}", runs_folder, plain_name(model), plain_name(dataset), local);
  std::string folder = name;
  for (int number = 2; mkdir(folder.c_str(), 0777) != 0; ++number) {
    if (errno != EEXIST)
      throw Error(fmt::format("{}: cannot be made: {}; --save DIR names another folder", folder, std::strerror(errno)));
    folder = fmt::format("{}-{}", name, number);
  }
  return folder;
}

void probe_runs_folder() {
  try {
    probe_folder(runs_folder);
  } catch (const Error& error) {
    throw Error(fmt::format("{}; --save DIR names one for the trained model", error.what()));
  }
}

bool holds_model(const std::string& folder) {
  for (const char* name : {"/model", "/model.json", "/training.json"})
    if (path_exists(folder + name)) return true;
  return false;
}

}  // namespace

ModelPlace::ModelPlace(const Arguments& arguments)
    : folder_(arguments.text(arguments.given("save") ? "save" : "checkpoint")),
      checkpoint_(absolute(arguments.text("checkpoint"))) {
  if (!is_named()) {
    probe_runs_folder();
    return;
  }
  probe_trained(folder_);
  if (arguments.flag("overwrite") || !holds_model(folder_)) return;
  const bool has_checkpoint = arguments.given("checkpoint");
  if (arguments.flag("resume") && checkpoint_of_trained(folder_) == checkpoint_) return;
  throw Error(
      fmt::format("{} holds a trained model already; --save DIR names another folder, {}--overwrite replaces it",
                  folder_, has_checkpoint && !arguments.flag("resume") ? "--resume goes on with its run, " : ""));
}

void ModelPlace::save(const OpenedModel& opened, const SampleKind& kind) {
  const std::string folder = is_named() ? folder_ : make_run_folder(opened.model.name(), kind.dataset);
  try {
    save_trained(folder, opened, kind, checkpoint_);
  } catch (...) {
    // A folder that was made only for the model is removed.
    if (!is_named()) rmdir(folder.c_str());
    throw;
  }
  saved_ = folder;
}

}  // namespace pando::cli
