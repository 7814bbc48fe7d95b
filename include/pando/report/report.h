// report::save: a training run as one page for a browser: how it went, what it gets wrong, and what ran where.
#pragma once
#include <pando/report/plot.h>

namespace pando {

struct Profile;

namespace report {

// What devices did when: Profiler::timeline(), or History::timeline() after a fit that recorded one. Cheap to copy.
class PANDO_API Timeline {
 public:
  // Of nothing.
  Timeline() = default;
  explicit Timeline(std::shared_ptr<const Profile> profile) : profile_(std::move(profile)) {}

  bool empty() const { return profile_ == nullptr; }
  // Null if it is empty.
  const Profile* profile() const { return profile_.get(); }
  // A page of its own (.html), or a Chrome trace (.json) that opens in Perfetto. Throws Error for another ending, and
  // if the file cannot be written.
  void save(const std::string& path) const;

 private:
  std::shared_ptr<const Profile> profile_ = {};
};

// A number that is worth large letters: {"test accuracy", "98.9 %"}.
struct Headline {
  std::string name = {};
  std::string value = {};
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
};

struct DeviceMemory {
  // "stage 0"
  std::string device = {};
  std::vector<MemoryPart> parts = {};
};

// What the page shows; a section without data is left out. All text may hold any characters.
struct Run {
  std::string title = "Training run";
  // Below the title, a sentence or two.
  std::string description = {};
  std::vector<Headline> headlines = {};
  // A History converts to it.
  plot::Curves curves = {};
  // What a classifier said about samples: labels [n] or one-hot [n, classes], probabilities (or other scores, the
  // largest wins) [n, classes]. Both or none.
  Array labels = {};
  Array probabilities = {};
  // Label 0 is the first; empty: their numbers.
  std::vector<std::string> class_names = {};
  // The same samples as plot::image_grid() takes them; without them mistakes are counted but not shown.
  Array images = {};
  std::vector<LayerRow> layers = {};
  // "Total params" below the layers; negative: their sum. Layers that share weights count them once.
  std::int64_t parameters = -1;
  // As Model::explain() gives it.
  std::string explanation = {};
  std::vector<DeviceMemory> memory = {};
  Timeline timeline = {};
};

// The text of the page. It needs nothing else: no network, no other file. Throws Error if the arrays do not fit.
PANDO_API std::string page(const Run& run);

// Writes the page to a file; one that is there is replaced as a whole. Throws Error, before anything else, if the path
// does not end in .html, and if the file cannot be written.
PANDO_API void save(const Run& run, const std::string& path);

}  // namespace report
}  // namespace pando
