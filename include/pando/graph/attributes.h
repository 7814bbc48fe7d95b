// SPDX-License-Identifier: Apache-2.0
// The named, typed parameters of a node.
#pragma once
#include <pando/base/array.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace pando {

struct ElementwiseProgram;

using Integers = std::vector<std::int64_t>;
using Attribute = std::variant<bool, std::int64_t, double, std::string, Integers, DType, Array,
                               std::shared_ptr<const ElementwiseProgram>>;

// A few attributes in the order of their names. Reading one that is absent or of another type throws InternalError:
// the op's definition lists every attribute with its default.
class PANDO_API Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<std::string, Attribute>> entries);

  void set(const std::string& key, Attribute value);
  const Attribute* find(std::string_view key) const;

  bool flag(std::string_view key) const;
  std::int64_t integer(std::string_view key) const;
  double number(std::string_view key) const;
  const std::string& text(std::string_view key) const;
  const Integers& integers(std::string_view key) const;
  DType dtype(std::string_view key) const;
  const Array& array(std::string_view key) const;
  const std::shared_ptr<const ElementwiseProgram>& program(std::string_view key) const;

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  std::vector<std::pair<std::string, Attribute>> entries_;
};

}  // namespace pando
