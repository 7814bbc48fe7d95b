// SPDX-License-Identifier: Apache-2.0
// report::save: a training run as one page for a browser: how it went, what it gets wrong, and what ran where.
#pragma once
#include <pando/report/plot.h>

namespace pando {

struct Profile;

namespace report {

// What devices did when: Profiler::timeline(), or History::timeline() after a fit that recorded one. Cheap to copy.
class PANDO_API Timeline {
 public:
  // An empty timeline.
  Timeline() = default;
  explicit Timeline(std::shared_ptr<const Profile> profile) : profile_(std::move(profile)) {}

  bool empty() const { return profile_ == nullptr; }
  // Null if the timeline is empty.
  const Profile* profile() const { return profile_.get(); }
  // Saves a page (.html), or a Chrome trace (.json) that opens in Perfetto. Throws Error for another ending, and if the
  // file cannot be written.
  void save(const std::string& path) const;

 private:
  std::shared_ptr<const Profile> profile_ = {};
};

// A number to show in large letters: {"test accuracy", "98.9 %"}.
struct Headline {
  std::string name = {};
  std::string value = {};
};

// {"learning rate", "0.001"}
struct Fact {
  std::string name = {};
  std::string value = {};
};

struct FactList {
  // "Hyperparameters"
  std::string heading = {};
  std::vector<Fact> facts = {};
};

// {"conv2d", "Conv2D", "(None, 26, 26, 32)", 320}
struct LayerRow {
  std::string name = {};
  std::string type = {};
  std::string output_shape = {};
  std::int64_t parameters = 0;
};

struct MemoryPart {
  // "weights"
  std::string name = {};
  std::uint64_t bytes = 0;
  // A sentence that says what it is for; shown once for each name.
  std::string meaning = {};
};

struct DeviceMemory {
  // "stage 0"
  std::string device = {};
  std::vector<MemoryPart> parts = {};
};

// What the page shows; a section without data is left out. Any text may contain any characters.
struct Run {
  std::string title = "Training run";
  // Below the title, a sentence or two.
  std::string description = {};
  std::vector<Headline> headlines = {};
  // How the run was set up and where it ran.
  std::vector<FactList> facts = {};
  // A History converts to it.
  plot::Curves curves = {};
  plot::StepCurve loss_by_step = {};
  // What a classifier said about samples. Labels are [n] or one-hot [n, classes]; probabilities, or other scores of
  // which the largest wins, are [n, classes]. Give both or neither.
  Array labels = {};
  Array probabilities = {};
  // The names of the labels, label 0 first. If empty, the labels' numbers are shown.
  std::vector<std::string> class_names = {};
  // The same samples as plot::image_grid() takes them; without them mistakes are counted but not shown.
  Array images = {};
  std::vector<LayerRow> layers = {};
  // "Total params" below the layers. If negative, the sum over the layers; layers that share weights count them once.
  std::int64_t parameters = -1;
  // What Model::explain() returns.
  std::string explanation = {};
  std::vector<DeviceMemory> memory = {};
  Timeline timeline = {};
};

// The text of the page. It needs nothing else: no network, no other file. Throws Error if the arrays do not match.
PANDO_API std::string page(const Run& run);

// Writes the page to a file. An existing file is replaced as a whole. Throws Error if the path does not end in .html,
// before doing anything else, and if the file cannot be written.
PANDO_API void save(const Run& run, const std::string& path);

}  // namespace report
}  // namespace pando
