#include "cli/commands.h"
#include "cli/output.h"
#include "cli/virtual_ipus.h"

namespace pando::cli {

int explain(const Arguments& arguments) {
  const Division division = division_of(arguments);
  const TrainingRecipe recipe = recipe_of(arguments);
  const ImageKind images = describe_samples(arguments.text("dataset"), arguments.whole("samples"));
  const VirtualIpus ipus(division.ipus, division.tiles);
  OpenedModel opened = open_model(arguments.words()[0], images);
  prepare_training(opened, division, recipe);
  const keras::Model::ExplainOptions options = {.samples = images.train, .batch_size = recipe.batch_size};
  print(arguments.flag("json") ? opened.model.explain_json(options) : opened.model.explain(options));
  return 0;
}

int summary(const Arguments& arguments) {
  const OpenedModel opened = open_model(arguments.words()[0], describe_samples(arguments.text("dataset"), 0));
  if (!arguments.flag("json")) {
    print(opened.model.summary_text());
    return 0;
  }
  Json json, layers;
  for (const keras::Layer& layer : opened.model.layers()) {
    Json one;
    one.set("name", layer.name());
    one.set("class_name", layer.kind());
    one.set("parameters", layer.count_params());
    layers.append(one);
  }
  json.set("model", opened.model.name());
  json.set("parameters", opened.model.count_params());
  json.set("layers", layers);
  print_json(json);
  return 0;
}

}  // namespace pando::cli
