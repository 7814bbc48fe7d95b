// What a checkpoint says about its run.
#pragma once
#include <gtest/gtest.h>

#include <fstream>

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

}  // namespace pando
