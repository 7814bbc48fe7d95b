// SPDX-License-Identifier: Apache-2.0
#include "cli/trained_model.h"

#include <pando/frontends/keras/saving.h>

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/paths.h"
#include "cli/output.h"
#include "io/file_writer.h"
#include "io/json.h"
#include "io/probe.h"

namespace pando::cli {

namespace {

std::string training_path(const std::string& directory) { return directory + "/training.json"; }

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Json json_of(const SampleKind& kind, const std::string& checkpoint) {
  Json json;
  json.set("dataset", kind.dataset);
  if (kind.is_table()) {
    json.set("columns", json_list(kind.columns));
    json.set("label", kind.label);
  } else {
    json.set("image", json_list(kind.shape));
  }
  json.set("class_names", json_list(kind.class_names));
  if (!checkpoint.empty()) json.set("checkpoint", checkpoint);
  return json;
}

// The file may come from anywhere, so each field is checked before it is used.
class TrainingFile {
 public:
  TrainingFile(const Json& json, const std::string& path) : json_(json), path_(path) {}

  SampleKind kind() const {
    SampleKind kind{.dataset = member("dataset").string(named("dataset"))};
    if (json_.find("columns") != nullptr) {
      kind.columns = names("columns");
      kind.label = member("label").string(named("label"));
      kind.shape = {static_cast<std::int64_t>(kind.columns.size())};
    } else {
      kind.shape = image();
    }
    kind.class_names = names("class_names");
    return kind;
  }

 private:
  std::string named(const char* name) const { return fmt::format("{}: '{}'", path_, name); }

  std::vector<std::string> names(const char* name) const {
    std::vector<std::string> all;
    for (const Json& one : member(name).list(named(name))) all.push_back(one.string(named(name)));
    return all;
  }

  const Json& member(const char* name) const {
    const Json* found = json_.find(name);
    if (found == nullptr) throw Error(fmt::format("{} has no '{}'; train the model again", path_, name));
    return *found;
  }

  Shape image() const {
    constexpr std::int64_t largest = 65536;
    const std::string what = named("image");
    const Json::List& sizes = member("image").list(what);
    if (sizes.size() != 2 && sizes.size() != 3)
      throw Error(fmt::format("{} has {} sizes, but an image has 2 or 3; train the model again", what, sizes.size()));
    Shape shape;
    for (const Json& json : sizes) {
      const std::int64_t size = json.integer(what);
      if (size < 1 || size > largest)
        throw Error(fmt::format("{} holds the size {}, but an image has sizes from 1 to {}; train the model again",
                                what, size, largest));
      shape.append(size);
    }
    return shape;
  }

  const Json& json_;
  const std::string& path_;
};

}  // namespace

void save_trained(const std::string& directory, const OpenedModel& opened, const SampleKind& kind,
                  const std::string& checkpoint) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) throw Error(fmt::format("{}: cannot be made: {}; save to another folder", directory, error.message()));
  opened.model.save(directory + "/model");
  write_file(training_path(directory), json_of(kind, checkpoint).text(2) + "\n");
}

void probe_trained(const std::string& directory) {
  probe_folder(directory);
  keras::probe_save(directory + "/model");
  if (is_folder(training_path(directory)))
    throw Error(
        fmt::format("{}: is a folder where a file is to be written; save to another folder", training_path(directory)));
}

std::string checkpoint_of_trained(const std::string& directory) {
  const std::string path = training_path(directory);
  if (!path_exists(path)) return "";
  try {
    const Json json = Json::parse(read_text(path), path);
    const Json* checkpoint = json.find("checkpoint");
    return checkpoint == nullptr ? "" : checkpoint->string("checkpoint");
  } catch (const Error&) {
    // Another program's file.
    return "";
  }
}

TrainedModel load_trained(const std::string& directory) {
  const std::string path = training_path(directory);
  TrainedModel trained{open_saved_model(directory), {}};
  if (!path_exists(path)) {
    trained.kind.shape = trained.opened.input;
    return trained;
  }
  trained.kind = TrainingFile(Json::parse(read_text(path), path), path).kind();
  return trained;
}

}  // namespace pando::cli
