#include "cli/trained_model.h"

#include <pando/keras/saving.h>

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/json.h"
#include "base/paths.h"
#include "io/file_writer.h"

namespace pando::cli {

namespace {

std::string training_path(const std::string& directory) { return directory + "/training.json"; }

Json json_of(const ImageKind& images) {
  Json json, shape, names;
  for (std::int64_t size : images.image) shape.append(size);
  for (const std::string& name : images.class_names) names.append(name);
  json.set("dataset", images.dataset);
  json.set("image", shape);
  json.set("class_names", names);
  return json;
}

ImageKind images_of(const Json& json, const std::string& path) {
  const auto member = [&](const char* name) -> const Json& {
    const Json* found = json.find(name);
    if (found == nullptr) throw Error(fmt::format("{} has no '{}'; train the model again", path, name));
    return *found;
  };
  ImageKind images{.dataset = member("dataset").string("dataset")};
  for (const Json& size : member("image").list("image")) images.image.append(size.integer("image"));
  for (const Json& name : member("class_names").list("class_names"))
    images.class_names.push_back(name.string("class_names"));
  return images;
}

}  // namespace

void save_trained(const std::string& directory, const OpenedModel& opened, const ImageKind& images) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) throw Error(fmt::format("{}: cannot be made: {}; save to another folder", directory, error.message()));
  opened.model.save(directory + "/model");
  write_file(training_path(directory), json_of(images).text(2) + "\n");
}

TrainedModel load_trained(const std::string& directory) {
  const std::string path = training_path(directory);
  TrainedModel trained{open_saved_model(directory), {}};
  if (!path_exists(path)) {
    trained.images.image = trained.opened.input;
    return trained;
  }
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  trained.images = images_of(Json::parse(text.str(), path), path);
  return trained;
}

}  // namespace pando::cli
