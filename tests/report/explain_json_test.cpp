// SPDX-License-Identifier: Apache-2.0
// explain for programs: JSON that can be read back.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <stdexcept>

#include "report/explain/explain.h"

namespace pando {
namespace {

Explanation pipeline() {
  return {.model = "model",
          .samples = 60'000,
          .batch_size = 64,
          .ipus = 2,
          .stages = {{"conv2d .. conv2d_1", 905.3, {75'264, 0, 75'264, 3'366'912, 401'408, 401'408}},
                     {"max_pooling2d_1 .. dense", 6.1, {64'040, 0, 64'040, 824'320, 0, 2'560}}},
          .gradient_accumulation = 8,
          .reduction = "sum",
          .optimizer = "sgd",
          .learning_rate = 0.01,
          .steps_grow_with_gradients = true,
          .steps_per_execution = 936,
          .cores = 2,
          .schedule = grouped_schedule(2, true)};
}

// Reads JSON into "stages.0.memory.weights" -> "75264"; strings without their quotes and escapes. Throws what is not
// JSON as its rest.
class JsonReader {
 public:
  explicit JsonReader(const std::string& text) : rest_(text) {
    value("");
    skip_blanks();
    if (!rest_.empty()) throw std::runtime_error(rest_);
  }
  const std::map<std::string, std::string>& leaves() const { return leaves_; }

 private:
  void skip_blanks() { rest_.erase(0, rest_.find_first_not_of(" \n")); }
  bool take(char c) {
    skip_blanks();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.erase(0, 1);
    return true;
  }
  void expect(char c) {
    if (!take(c)) throw std::runtime_error(rest_);
  }
  std::string string() {
    expect('"');
    std::string text;
    while (!rest_.empty() && rest_[0] != '"') {
      if (rest_[0] == '\\') rest_.erase(0, 1);
      text += rest_.at(0);
      rest_.erase(0, 1);
    }
    expect('"');
    return text;
  }
  void value(const std::string& path) {
    skip_blanks();
    const auto below = [&](const std::string& name) { return path.empty() ? name : path + "." + name; };
    if (take('{')) {
      do {
        const std::string name = string();
        expect(':');
        value(below(name));
      } while (take(','));
      expect('}');
    } else if (take('[')) {
      for (int i = 0; !take(']'); ++i) {
        if (i > 0) expect(',');
        value(below(std::to_string(i)));
      }
    } else if (rest_.starts_with('"')) {
      leaves_[path] = string();
    } else {
      const std::size_t end = rest_.find_first_of(",]} \n");
      const std::string word = rest_.substr(0, end);
      char* behind = nullptr;
      std::strtod(word.c_str(), &behind);
      const bool number = !word.empty() && *behind == '\0' && (word[0] == '-' || (word[0] >= '0' && word[0] <= '9'));
      if (!number && word != "true" && word != "false" && word != "null") throw std::runtime_error(rest_);
      leaves_[path] = word;
      rest_.erase(0, end);
    }
  }

  std::string rest_;
  std::map<std::string, std::string> leaves_;
};

TEST(ExplainJson, HasEverything) {
  const auto leaves = JsonReader(to_json(pipeline())).leaves();
  const std::map<std::string, std::string> some = {{"model", "model"},
                                                   {"training", "true"},
                                                   {"samples", "60000"},
                                                   {"batch_size", "64"},
                                                   {"ipus", "2"},
                                                   {"idle_ipus", "0"},
                                                   {"replicas", "1"},
                                                   {"cores", "2"},
                                                   {"tiles_per_ipu", "1"},
                                                   {"gradient_accumulation", "8"},
                                                   {"reduction", "sum"},
                                                   {"optimizer", "sgd"},
                                                   {"learning_rate", "0.01"},
                                                   {"effective_learning_rate", "0.08"},
                                                   {"steps_per_execution", "936"},
                                                   {"effective_batch", "512"},
                                                   {"batches_per_update", "8"},
                                                   {"updates_per_execution", "117"},
                                                   {"batches", "938"},
                                                   {"updates", "118"},
                                                   {"executions", "2"},
                                                   {"samples_in_last_batch", "32"},
                                                   {"batches_in_last_update", "2"},
                                                   {"empty_batches", "0"},
                                                   {"updates_in_last_execution", "1"},
                                                   {"megaflops", "911.4"},
                                                   {"memory", "5275216"},
                                                   {"stages.0.layers", "conv2d .. conv2d_1"},
                                                   {"stages.0.share", "0.9933070002"},
                                                   {"stages.0.memory.activations", "3366912"},
                                                   {"stages.1.memory.total", "954960"},
                                                   {"schedule.name", "Grouped"},
                                                   {"schedule.backward.0", "5"},
                                                   {"schedule.stash_depth.0", "2"},
                                                   {"schedule.slots", "20"},
                                                   {"schedule.bubble", "0.2"},
                                                   {"hints.0", hints(pipeline())[0]}};
  for (const auto& [name, value] : some) {
    ASSERT_TRUE(leaves.contains(name)) << name;
    EXPECT_EQ(leaves.at(name), value) << name;
  }
}

TEST(ExplainJson, HasPredictions) {
  Explanation explanation = pipeline();
  EXPECT_EQ(JsonReader(to_json(explanation)).leaves().at("scaling"), "null");
  explanation.scaling =
      Scaling{.updates = {{.compute = 0.5}, {.workers = 2, .compute = 0.5, .sums = 0.25, .waiting = 0.125}},
              .sum_bytes = 12,
              .compute_source = "given",
              .network_source = "measured"};
  const auto leaves = JsonReader(to_json(explanation)).leaves();
  EXPECT_EQ(leaves.at("scaling.sum_bytes"), "12");
  EXPECT_EQ(leaves.at("scaling.network_source"), "measured");
  EXPECT_EQ(leaves.at("scaling.updates.0.efficiency"), "1");
  EXPECT_EQ(leaves.at("scaling.updates.1.workers"), "2");
  EXPECT_EQ(leaves.at("scaling.updates.1.seconds"), "0.625");
  EXPECT_EQ(leaves.at("scaling.updates.1.efficiency"), "0.8");
}

TEST(ExplainJson, IsValidForAnyName) {
  Explanation explanation = pipeline();
  explanation.stages.pop_back();
  explanation.model = "a \"model\" in C:\\models\n\xff";
  const auto leaves = JsonReader(to_json(explanation)).leaves();
  EXPECT_EQ(leaves.at("model"), "a \"model\" in C:\\models ?");
  EXPECT_EQ(leaves.at("schedule"), "null");
  EXPECT_EQ(JsonReader(to_json(Explanation{})).leaves().at("batches"), "0");
}

}  // namespace
}  // namespace pando
