// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

#include <pando/datasets/datasets.h>

#include "cli/models.h"

namespace pando::cli {

namespace {

using Kind = Option::Kind;

const std::vector<std::string> dataset_names = {"mnist", "fashion_mnist", "synthetic_digits"};

Option dataset_option(const std::string& fallback) {
  return {.name = "dataset",
          .kind = Kind::file,
          .value = "NAME",
          .help =
              "mnist, fashion_mnist, synthetic_digits, or your own folder of images or CSV file: see 'pando datasets "
              "--help'",
          .fallback = fallback,
          .choices = dataset_names};
}

const Option samples_option = {.name = "samples",
                               .kind = Kind::whole,
                               .value = "N",
                               .help = "use the first N images only, to train on and to test with",
                               .smallest = 1};
const Option image_size_option = {.name = "image-size",
                                  .kind = Kind::text,
                                  .value = "HxW",
                                  .help =
                                      "the height and width that your own images are brought to, such as 64x64 "
                                      "(default: theirs, if all have one of at most 256x256, otherwise the median, "
                                      "at most 64x64)"};
const Option label_option = {.name = "label",
                             .kind = Kind::text,
                             .value = "COLUMN",
                             .help = "the column of your own CSV file that says the class (default: the last)"};
const Option skip_bad_option = {.name = "skip-bad",
                                .help =
                                    "leave out images and rows that cannot be read, and name them; without it, "
                                    "they end the command"};
const Option json_option = {.name = "json", .help = "print the results as one JSON object"};
const Option batch_size_option = {.name = "batch-size",
                                  .kind = Kind::whole,
                                  .value = "B",
                                  .help = "images of a micro-batch",
                                  .fallback = "64",
                                  .smallest = 1,
                                  .largest = 1'000'000};
const Option optimizer_option = {.name = "optimizer",
                                 .kind = Kind::choice,
                                 .value = "NAME",
                                 .help = "sgd, adam, adamw, nadam, rmsprop or adagrad",
                                 .fallback = "adam",
                                 .choices = {"sgd", "adam", "adamw", "nadam", "rmsprop", "adagrad"}};
const Option quiet_option = {.name = "quiet", .letter = 'q', .help = "show no progress, only results and problems"};
const Option tiles_option = {.name = "tiles",
                             .kind = Kind::whole,
                             .value = "T",
                             .help = "worker threads of each virtual IPU; 0 divides the cores",
                             .fallback = "0"};
const Option backend_option = {.name = "backend",
                               .kind = Kind::choice,
                               .value = "NAME",
                               .help =
                                   "what virtual IPUs are made of: cpu, cuda (an NVIDIA GPU), or auto, a GPU if there "
                                   "is one; else what PANDO_BACKEND says, or cpu",
                               .choices = {"cpu", "cuda", "auto"}};
const Option ipus_option = {.name = "ipus",
                            .kind = Kind::whole,
                            .value = "N",
                            .help = "virtual IPUs; N = stages x replicas, any two give the third",
                            .smallest = 1};
const Option trained_option = {.name = "model",
                               .kind = Kind::folder,
                               .value = "DIR",
                               .help = "the folder of a trained model: what --save or --checkpoint of train named"};

OptionGroup division_options() {
  return {"Virtual IPUs",
          {ipus_option,
           {.name = "stages",
            .kind = Kind::whole,
            .value = "S",
            .help = "stages of a pipeline, of about equal work; 1 means no pipeline",
            .smallest = 1},
           {.name = "replicas", .kind = Kind::whole, .value = "R", .help = "copies of the model", .smallest = 1},
           {.name = "schedule",
            .kind = Kind::choice,
            .value = "NAME",
            .help = "how the stages take turns: grouped, interleaved or sequential",
            .fallback = "grouped",
            .choices = {"grouped", "interleaved", "sequential"}},
           {.name = "gradient-accumulation-count",
            .kind = Kind::whole,
            .value = "N",
            .help = "micro-batches of a weight update, of each replica (default: 8 in a pipeline, else 1)",
            .smallest = 1,
            .largest = 1'000'000},
           {.name = "reduction",
            .kind = Kind::choice,
            .value = "NAME",
            .help = "how the gradients of an update are combined: sum or mean",
            .fallback = "sum",
            .choices = {"sum", "mean"}},
           {.name = "steps-per-execution",
            .kind = Kind::whole,
            .value = "K",
            .help = "micro-batches that the IPUs run before the host takes over again",
            .fallback = "50",
            .smallest = 1,
            .largest = 1'000'000},
           tiles_option,
           backend_option}};
}

// Only for training: everything else is quick enough alone.
OptionGroup worker_options() {
  return {"Workers",
          {{.name = "workers",
            .kind = Kind::choice,
            .value = "WHICH",
            .help = "auto: the processes that mpirun or srun started together train one model, each with its own "
                    "virtual IPUs; none: this process alone",
            .choices = {"auto", "none"}}}};
}

// Only for explain.
OptionGroup prediction_options() {
  return {"Prediction",
          {{.name = "workers",
            .kind = Kind::text,
            .value = "LIST",
            .help = "the numbers of workers to predict the time of an update for, such as 1,2,1000 (default: 1,2,4 to "
                    "64)"},
           {.name = "step-time",
            .kind = Kind::number,
            .value = "US",
            .help = "microseconds of a step on one IPU, instead of what 'pando bench MODEL' measured",
            .above = true},
           {.name = "latency",
            .kind = Kind::number,
            .value = "US",
            .help = "microseconds of a short message, instead of what 'pando bench network' measured",
            .above = true},
           {.name = "bandwidth",
            .kind = Kind::number,
            .value = "GB/S",
            .help = "gigabytes a second that a worker sends and receives, with --latency",
            .above = true}}};
}

OptionGroup training_options() {
  return {"Training",
          {batch_size_option,
           {.name = "epochs",
            .kind = Kind::whole,
            .value = "E",
            .help = "passes over the images",
            .fallback = "3",
            .smallest = 1},
           optimizer_option,
           {.name = "learning-rate",
            .kind = Kind::number,
            .value = "X",
            .help = "learning rate of the optimizer (default: Keras's)",
            .above = true},
           {.name = "precision",
            .kind = Kind::choice,
            .value = "NAME",
            .help = "precision of products: float32, or mixed_bfloat16, or tf32 on a GPU, where that is faster",
            .fallback = "float32",
            .choices = {"float32", "mixed_bfloat16", "tf32"}},
           {.name = "seed",
            .kind = Kind::whole,
            .value = "S",
            .help = "everything random follows from it: the same seed gives the same bits",
            .fallback = "0"}}};
}

OptionGroup file_options() {
  return {
      "Files",
      {{.name = "save",
        .letter = 'o',
        .kind = Kind::folder,
        .value = "DIR",
        .help = "where the trained model goes (default: the folder of --checkpoint, else a new one in "
                "pando-runs)"},
       {.name = "overwrite", .help = "replace an existing trained model"},
       {.name = "checkpoint",
        .kind = Kind::folder,
        .value = "DIR",
        .help = "where the state of the run is kept, every 30 seconds and at each end"},
       {.name = "resume", .help = "resume from the newest checkpoint in --checkpoint DIR, if there is one"},
       {.name = "report", .kind = Kind::file, .value = "FILE", .help = "a page about the run: FILE.html"},
       {.name = "profile",
        .kind = Kind::file,
        .value = "FILE",
        .help = "the timeline of the first executions: a page, FILE.html, or a Chrome trace, FILE.json"},
       {.name = "log-csv", .kind = Kind::file, .value = "FILE", .help = "the numbers of each epoch, one line each"}}};
}

std::string model_words() {
  std::string text =
      "MODEL is a file in the form of Keras's to_json() (NAME.json), the folder of a trained model, from\n"
      "whose weights training starts, or one of:\n\n";
  for (const BuiltInModel& model : built_in_models())
    text += "  " + model.name + std::string(14 - model.name.size(), ' ') + model.text + "\n";
  return text;
}

Command train_command() {
  return {
      .name = "train",
      .arguments = "MODEL",
      .least_arguments = 1,
      .most_arguments = 1,
      .offered = {{built_in_names(), true}},
      .summary = "train a model on images, and test it",
      .description = model_words() +
                     "\nThe progress is shown on the standard error stream, the results on the standard output. "
                     "Ctrl-C ends training after the execution that is running; with --checkpoint nothing is lost, "
                     "and --resume leads to exactly the bits of an uninterrupted run. Your own model is fed pixels "
                     "of 0 to 255, so it should begin with a Rescaling layer.",
      .groups = {{"Data",
                  {dataset_option("mnist"),
                   samples_option,
                   image_size_option,
                   label_option,
                   skip_bad_option,
                   {.name = "validation-split",
                    .kind = Kind::number,
                    .value = "X",
                    .help = "the part of the training images that is kept to validate with after each epoch, such as "
                            "0.1: the last ones",
                    .above = true},
                   {.name = "validation-data",
                    .kind = Kind::file,
                    .value = "NAME",
                    .help = "what to validate with instead: the test images of this data set, or all images of a "
                            "folder or CSV file without",
                    .choices = dataset_names}}},
                 training_options(),
                 division_options(),
                 worker_options(),
                 file_options(),
                 {"Output",
                  {json_option,
                   quiet_option,
                   {.name = "verbose", .letter = 'v', .help = "also show the layers, and what training will do"}}}},
      .examples = {{"pando train keras-cnn --epochs 3 --save digits", "a convolutional network on MNIST"},
                   {"pando train mlp --dataset fashion_mnist --ipus 4", "four replicas"},
                   {"pando train vgg-small --dataset photos --stages 2 --checkpoint run",
                    "a pipeline, on your own images"},
                   {"pando train mlp --dataset flowers.csv --label species --validation-split 0.1",
                    "on your own table, with validation"},
                   {"mpirun -n 2 pando train keras-cnn --workers auto", "on two processes"}},
      .run = train};
}

Command launch_command() {
  return {.name = "launch",
          .arguments = "-- PROGRAM [ARGUMENT...]",
          .least_arguments = 1,
          .most_arguments = -1,
          .offered = {{{}, true}},
          .summary = "start a program as several workers, again if one of them dies",
          .description =
              "Starts PROGRAM with mpirun. If it fails, and is not interrupted or wrongly called, it is started again: "
              "`pando train` with --resume added, so that nothing but the time since the last checkpoint is lost. "
              "Programs of your own must resume by themselves. What mpirun reads from its own environment and files, "
              "such as the list of hosts, holds here, too.",
          .groups = {{"Workers",
                      {{.name = "workers",
                        .letter = 'n',
                        .kind = Kind::whole,
                        .value = "N",
                        .help = "how many processes",
                        .fallback = "1",
                        .smallest = 1},
                       {.name = "restarts",
                        .kind = Kind::whole,
                        .value = "K",
                        .help = "how often the program is started again at most",
                        .fallback = "3"}}}},
          .examples = {{"pando launch -n 4 -- pando train mlp --workers auto --checkpoint run",
                        "four workers; a failure costs little"}},
          .run = launch};
}

Command evaluate_command() {
  return {.name = "evaluate",
          .summary = "test a trained model, class by class",
          .description =
              "Reads the test images of the data set that the model was trained on, or of another "
              "with the same classes, and counts what the model gets right.",
          .groups = {{"Model and data", {trained_option, dataset_option(""), samples_option, skip_bad_option}},
                     {"Virtual IPUs", {batch_size_option, ipus_option, tiles_option, backend_option}},
                     {"Output", {json_option}}},
          .examples = {{"pando evaluate --model digits", "on the images that it was not trained on"}},
          .run = evaluate};
}

Command predict_command() {
  return {
      .name = "predict",
      .arguments = "IMAGE...",
      .least_arguments = 1,
      .most_arguments = -1,
      .offered = {{{}, true}},
      .summary = "say what images show",
      .description =
          "IMAGE is a PNG or JPEG file, an IDX file of images, or the number of an image, from 0, among the test "
          "images of the data set; for a model of rows, a CSV file with its columns, or the number of a row. A colour "
          "image becomes grey, and a grey one coloured, where the model needs it, and images of another size than "
          "those that the model was trained on are resized.",
      .groups = {{"Model and data", {trained_option, dataset_option(""), skip_bad_option}},
                 {"Output",
                  {{.name = "top",
                    .kind = Kind::whole,
                    .value = "K",
                    .help = "show the K most likely classes",
                    .fallback = "3",
                    .smallest = 1},
                   json_option}}},
      .examples = {{"pando predict --model digits seven.png", "your own drawing"},
                   {"pando predict --model pets *.jpg --skip-bad", "your own photos"},
                   {"pando predict --model digits 0 1 2", "the first three images to test with"}},
      .run = predict};
}

Command explain_command() {
  return {
      .name = "explain",
      .arguments = "MODEL",
      .least_arguments = 1,
      .most_arguments = 1,
      .offered = {{built_in_names(), true}},
      .summary = "say what training would do, before it does it",
      .description =
          "IPUs, batches, updates, executions, memory, the schedule of a pipeline with its bubble, and "
          "hints. MODEL and the options mean what they mean to 'pando train'. If 'pando bench' has measured the time "
          "of a step and the network on this machine, or they are given, the time of an update with several workers is "
          "predicted.",
      .groups = {{"Data", {dataset_option("mnist"), samples_option, image_size_option, label_option, skip_bad_option}},
                 {"Training", {batch_size_option, optimizer_option}},
                 division_options(),
                 prediction_options(),
                 {"Output", {json_option}}},
      .examples = {{"pando explain keras-cnn --stages 2 --replicas 2", "a pipeline of two stages, twice"},
                   {"pando explain keras-cnn --workers 1,8,1000 --latency 20 --bandwidth 12",
                    "what more machines would bring"}},
      .run = explain};
}

Command summary_command() {
  return {.name = "summary",
          .arguments = "MODEL",
          .least_arguments = 1,
          .most_arguments = 1,
          .offered = {{built_in_names(), true}},
          .summary = "list the layers of a model and their weights",
          .description = "MODEL is as in 'pando train'; a built-in one is made for the images of the data set.",
          .groups = {{"Data", {dataset_option("mnist"), image_size_option, label_option, skip_bad_option}},
                     {"Output", {json_option}}},
          .examples = {{"pando summary lenet", ""}, {"pando summary model.json", "your own model"}},
          .run = summary};
}

Command devices_command() {
  return {
      .name = "devices",
      .summary = "list the host and the virtual IPUs",
      .description = "The host and the virtual IPUs, with the worker threads (tiles) and the instruction set of each.",
      .groups = {{"Virtual IPUs",
                  {{.name = "ipus",
                    .kind = Kind::whole,
                    .value = "N",
                    .help = "how many virtual IPUs",
                    .fallback = "1",
                    .smallest = 1},
                   tiles_option,
                   backend_option}},
                 {"Output", {json_option}}},
      .examples = {{"pando devices --ipus 4", "how four virtual IPUs share the cores"}},
      .run = devices};
}

Command datasets_command() {
  return {
      .name = "datasets",
      .arguments = "[list | fetch NAME | verify NAME | show NAME]",
      .most_arguments = 2,
      .offered = {{{"list", "fetch", "verify", "show"}, false}, {dataset_names, true}},
      .summary = "list, fetch, verify and show data sets",
      .description =
          "  list          what there is, and where (also without a word)\n"
          "  fetch NAME    download it, if it is not on this machine\n"
          "  verify NAME   read every file and compare its SHA-256\n"
          "  show NAME     save a picture of the first images to --output\n"
          "\nNAME is mnist, fashion_mnist, synthetic_digits (drawn, so it needs no files), or your own: a folder that "
          "holds a folder of PNG and JPEG images for each class, or two such folders, train and test, or the four "
          "IDX files under MNIST's names; or a CSV file whose first line names its columns, numbers but for the one "
          "that says the class, or a folder of two such files, train.csv and test.csv. Without test images every "
          "fifth image of each class is used for the test, and so are rows.",
      .groups = {{"Data", {image_size_option, label_option, skip_bad_option}},
                 {"Output",
                  {{.name = "output",
                    .letter = 'o',
                    .kind = Kind::file,
                    .value = "FILE",
                    .help = "for show: FILE.png or FILE.svg",
                    .fallback = "images.png"},
                   {.name = "count",
                    .kind = Kind::whole,
                    .value = "N",
                    .help = "for show: how many images",
                    .fallback = "15",
                    .smallest = 1},
                   json_option}}},
      .examples = {{"pando datasets fetch fashion_mnist", ""},
                   {"pando datasets show photos --output photos.png", "the first images of your own folder"}},
      .run = datasets};
}

Command doctor_command() {
  return {.name = "doctor",
          .summary = "say what this build of Pando can do on this machine",
          .description =
              "The processor, its cores and instruction sets, memory, the optional parts of this build, data sets, the "
              "terminal and the working folder, and whether a small training works. The exit status is 0 if it does.",
          .groups = {{"Output", {json_option}}},
          .examples = {{"pando doctor", ""}},
          .run = doctor};
}

Command bench_command() {
  return {.name = "bench",
          .arguments = "[MODEL... | network]",
          .most_arguments = -1,
          .offered = {{built_in_names(), true}},
          .summary = "measure how long a training step takes, or messages between workers",
          .description =
              "Trains on made-up images and shows the time of a step (one micro-batch), the images per second and, for "
              "float32, the fraction of the multiply-add peak that is measured in the same run. "
              "Without MODEL all built-in models are measured. Other work on the machine makes it slower. The word "
              "network instead of a model, under mpirun or srun, measures messages of several sizes between the "
              "workers. What is measured on one IPU, and between workers, is kept for 'pando explain'.",
          .groups = {{"Data", {dataset_option("mnist"), image_size_option, label_option, skip_bad_option}},
                     {"Training", {batch_size_option}},
                     division_options(),
                     worker_options(),
                     {"Output", {json_option}}},
          .examples = {{"pando bench mlp lenet --batch-size 32", ""},
                       {"mpirun -n 2 pando bench network", "latency and bandwidth between two workers"}},
          .run = bench};
}

}  // namespace

const std::vector<Command>& commands() {
  static const std::vector<Command> list = {train_command(),   evaluate_command(), predict_command(), explain_command(),
                                            summary_command(), datasets_command(), devices_command(), bench_command(),
                                            launch_command(),  doctor_command()};
  return list;
}

const Command* find_command(const std::string& name) {
  for (const Command& command : commands())
    if (command.name == name) return &command;
  return nullptr;
}

}  // namespace pando::cli
