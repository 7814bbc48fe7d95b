// SPDX-License-Identifier: Apache-2.0
// What make_reference.py had PyTorch compute and print.
#pragma once
#include <gtest/gtest.h>
#include <pando/pando.h>

#include <cmath>
#include <fstream>
#include <set>

#include "tests/reference.h"

namespace pando {

namespace nn = torch::nn;

inline Array reference(const std::string& name) { return read_reference(PANDO_TORCH_DATA "/reference.npz", name); }

inline std::map<std::string, std::string> read_printed() {
  std::ifstream file(PANDO_TORCH_DATA "/printed.txt");
  std::map<std::string, std::string> texts;
  std::string name;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("# ")) name = line.substr(2);
    else texts[name] += (texts[name].empty() ? "" : "\n") + line;
  return texts;
}

// What PyTorch prints of a module.
inline std::string printed(const std::string& name) {
  static const std::map<std::string, std::string> texts = read_printed();
  const auto found = texts.find(name);
  return found == texts.end() ? "(not in printed.txt)" : found->second;
}

inline void set_first_values(const nn::Module& module) {
  std::uint32_t number = 2;
  for (const nn::NamedParameters& list : {module.named_parameters(), module.named_buffers()})
    for (const auto& [name, parameter] : list)
      parameter.set_value(hashed(number++, parameter.shape(), 0.5, name.ends_with("running_var") ? 1.0 : 0.0));
}

// Norm of the difference over norm.
inline void expect_near(const Array& actual, const std::string& name) {
  const Array expected = reference(name);
  ASSERT_EQ(to_string(actual.shape()), to_string(expected.shape())) << name;
  double difference = 0, norm = 0;
  for (std::int64_t i = 0; i < actual.elements(); ++i) {
    const double a = actual.data<float>()[i], b = expected.data<float>()[i];
    difference += (a - b) * (a - b);
    norm += b * b;
  }
  EXPECT_LE(std::sqrt(difference), 1e-5 * std::sqrt(norm)) << name;
}

// The classes that a header declares as derived from `base`.
inline std::set<std::string> declared_in(const std::string& header, const std::string& base) {
  std::ifstream file(std::string(PANDO_TORCH_HEADERS "/") + header);
  const std::string begin = "struct PANDO_API ", derived = " : " + base + " ";
  std::set<std::string> names;
  for (std::string line; std::getline(file, line);)
    if (const std::size_t end = line.find(derived); line.starts_with(begin) && end != std::string::npos)
      names.insert(line.substr(begin.size(), end - begin.size()));
  if (names.empty()) throw Error(header + " declares nothing that derives from " + base);
  return names;
}

}  // namespace pando
