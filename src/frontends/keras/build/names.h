// SPDX-License-Identifier: Apache-2.0
// Names that users type: found, or refused with the nearest right one.
#pragma once
#include <pando/base/error.h>

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "base/text.h"

namespace pando::keras {

// "MaxPooling2D" -> "max_pooling2d", as Keras names layers after their class.
std::string snake_case(const std::string& name);
// The inverse, for names without digits: "he_normal" -> "HeNormal".
std::string pascal_case(const std::string& name);

// A name that was not given before: "dense", "dense_1", ...
std::string unique_name(const std::string& base);
// Reserves the name of a layer from a file, so that unique_name() does not return it.
void reserve_name(const std::string& name);

// The entry under the name as it is, or as snake_case makes it ("HeNormal"). Throws Error naming `kind` otherwise.
template <class Entry>
const Entry& find_by_name(const std::string& kind, const std::map<std::string, Entry>& table, const std::string& name) {
  auto found = table.find(name);
  if (found == table.end()) found = table.find(snake_case(name));
  if (found != table.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [key, entry] : table) known.push_back(key);
  throw Error(unknown_name(kind, name, known));
}

// Throws Error unless the value is one of the known ones: "Conv2D: unknown padding 'smae'; did you mean 'same'?".
void check_choice(const std::string& who, const std::string& option, const std::string& value,
                  const std::vector<std::string>& known);

}  // namespace pando::keras
