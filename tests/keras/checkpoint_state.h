// SPDX-License-Identifier: Apache-2.0
// What the checkpoints of a folder say about their run.
#pragma once
#include <gtest/gtest.h>
#include <pando/pando.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "frontends/keras/files/run_state.h"
#include "model/checkpoint_files.h"

namespace pando {

inline data::Safetensors read_checkpoint(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(stream), {});
  return data::parse_checkpoint(std::as_bytes(std::span(bytes)), path);
}

// All but the random number of the run: equal for runs that did the same.
inline std::vector<std::byte> checkpoint_state(const std::string& path) {
  data::Safetensors contents = read_checkpoint(path);
  EXPECT_EQ(std::erase_if(contents.metadata, [](const auto& entry) { return entry.first == "run_id"; }), 1u);
  return data::safetensors_bytes(contents);
}

inline std::vector<std::string> checkpoints_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}
inline std::string newest_in(const std::string& folder) { return folder + "/" + checkpoints_in(folder).back(); }

inline bool is_finished(const std::string& folder) {
  return keras::run_state_of(read_checkpoint(newest_in(folder)), "it").position.finished_of.has_value();
}

inline void expect_equal(const keras::History& a, const keras::History& b) {
  EXPECT_EQ(a.epochs(), b.epochs());
  ASSERT_EQ(a.end() - a.begin(), b.end() - b.begin());
  for (const plot::Curve& curve : a) EXPECT_EQ(curve.values, b[curve.name]) << curve.name;
}

}  // namespace pando
