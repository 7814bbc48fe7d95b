// SPDX-License-Identifier: Apache-2.0
#include <pando/base/dtype.h>
#include <pando/base/error.h>

#include <array>
#include <vector>

#include "base/text.h"

namespace pando {

namespace {

struct Description {
  std::string_view name;
  std::size_t size;
};

constexpr std::array<Description, 7> descriptions = {{
    {"float32", 4},
    {"float64", 8},
    {"bfloat16", 2},
    {"int32", 4},
    {"int64", 8},
    {"uint8", 1},
    {"bool", 1},
}};

}  // namespace

std::string_view name(DType dtype) { return descriptions[static_cast<std::size_t>(dtype)].name; }

std::size_t size_of(DType dtype) { return descriptions[static_cast<std::size_t>(dtype)].size; }

DType parse_dtype(std::string_view text) {
  std::vector<std::string> known;
  for (std::size_t i = 0; i < descriptions.size(); ++i) {
    if (descriptions[i].name == text) return static_cast<DType>(i);
    known.emplace_back(descriptions[i].name);
  }
  throw Error(unknown_name("dtype", text, known));
}

}  // namespace pando
