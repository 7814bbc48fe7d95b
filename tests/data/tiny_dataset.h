// SPDX-License-Identifier: Apache-2.0
// A data set of a few images, and a machine that knows no other: for tests of where data sets come from.
#pragma once
#include <gtest/gtest.h>

#include "datasets/dataset_list.h"
#include "io/sha256.h"
#include "tests/data/idx_bytes.h"
#include "tests/data/temporary_folder.h"

namespace pando {

// The contents of the four files; all pixels of image i are i.
inline std::array<std::string, 4> tiny_contents(int count) {
  std::string pixels, labels;
  for (int i = 0; i < count; ++i) {
    pixels += std::string(784, static_cast<char>(i));
    labels += static_cast<char>(i % 10);
  }
  const std::uint32_t n = static_cast<std::uint32_t>(count);
  const std::string images = idx_header(8, {n, 28, 28}) + pixels, numbers = idx_header(8, {n}) + labels;
  return {images, numbers, images, numbers};
}

// Described as if it were MNIST.
inline DatasetDescription tiny_dataset(const std::array<std::string, 4>& contents) {
  DatasetDescription dataset = dataset_list().front();
  for (std::size_t i = 0; i < contents.size(); ++i) {
    dataset.files[i].bytes = contents[i].size();
    dataset.files[i].sha256 = sha256(std::as_bytes(std::span(contents[i])));
  }
  return dataset;
}

// Points the environment at a folder that is empty, and the mirror at nothing.
class DatasetTest : public testing::Test {
 protected:
  DatasetTest() {
    set("PANDO_DATA", folder.path() + "/data");
    set("XDG_CACHE_HOME", folder.path() + "/cache");
    set("HOME", folder.path() + "/home");
    set("PANDO_MIRROR", "file://" + folder.path() + "/mirror");
  }
  ~DatasetTest() override {
    for (auto old = before.rbegin(); old != before.rend(); ++old) setenv(old->first.c_str(), old->second.c_str(), 1);
  }

  void set(const std::string& name, const std::string& value) {
    const char* old = std::getenv(name.c_str());
    before.emplace_back(name, old == nullptr ? "" : old);
    setenv(name.c_str(), value.c_str(), 1);
  }

  void write_set(const std::string& place) {
    for (std::size_t i = 0; i < contents.size(); ++i) folder.write(place + "/" + dataset.files[i].name, contents[i]);
  }

  TemporaryFolder folder;
  std::vector<std::pair<std::string, std::string>> before;
  const std::array<std::string, 4> contents = tiny_contents(12);
  const DatasetDescription dataset = tiny_dataset(contents);
};

}  // namespace pando
