// SPDX-License-Identifier: Apache-2.0
// JsonFields: the members of an object that a file holds, each checked as it is read.
#pragma once
#include <pando/base/error.h>

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "io/json.h"

namespace pando {

// A member that is missing, of another type or out of range is an Error that names it: "batches is -1 but must be at
// least 0".
class JsonFields {
 public:
  // `place` begins the names of members, "position."; the object outlives it.
  explicit JsonFields(const Json& json, std::string place = "") : json_(json), place_(std::move(place)) {
    json.object(place_.empty() ? "it" : place_.substr(0, place_.size() - 1));
  }

  bool has(const char* name) const { return json_.find(name) != nullptr; }
  std::string what(const char* name) const { return place_ + name; }
  const Json& at(const char* name) const {
    const Json* found = json_.find(name);
    if (found == nullptr) throw Error(fmt::format("there is no '{}'", what(name)));
    return *found;
  }
  JsonFields object(const char* name) const { return JsonFields(at(name), what(name) + "."); }
  const Json::List& list(const char* name) const { return at(name).list(what(name)); }
  std::string string(const char* name) const { return at(name).string(what(name)); }
  std::int64_t integer(const char* name, std::int64_t least = std::numeric_limits<std::int64_t>::min()) const {
    const std::int64_t value = at(name).integer(what(name));
    if (value < least) throw Error(fmt::format("{} is {} but must be at least {}", what(name), value, least));
    return value;
  }
  // Finite, and not negative.
  double amount(const char* name) const {
    const double value = at(name).number(what(name));
    if (!std::isfinite(value) || value < 0)
      throw Error(fmt::format("{} is {} but must be a number of at least 0", what(name), value));
    return value;
  }
  // Any numbers: the loss of a run may be NaN.
  std::vector<double> numbers(const char* name) const {
    std::vector<double> values;
    for (const Json& value : list(name)) values.push_back(value.number(what(name)));
    return values;
  }
  // The strings must differ from each other.
  std::vector<std::string> names(const char* name) const {
    std::vector<std::string> names;
    for (const Json& value : list(name)) {
      for (const std::string& known : names)
        if (value.string(what(name)) == known) throw Error(fmt::format("{} has '{}' twice", what(name), known));
      names.push_back(value.string(what(name)));
    }
    return names;
  }

 private:
  const Json& json_;
  std::string place_;
};

}  // namespace pando
