// SPDX-License-Identifier: Apache-2.0
#include <pando/graph/attributes.h>

#include <fmt/format.h>

#include <algorithm>

namespace pando {

namespace {

template <class T>
const T& read(const Attributes& attributes, std::string_view key) {
  const Attribute* found = attributes.find(key);
  if (found == nullptr || !std::holds_alternative<T>(*found))
    throw InternalError(fmt::format("attribute '{}' is absent or of another type", key));
  return std::get<T>(*found);
}

}  // namespace

Attributes::Attributes(std::initializer_list<std::pair<std::string, Attribute>> entries) {
  for (const auto& [key, value] : entries) set(key, value);
}

void Attributes::set(const std::string& key, Attribute value) {
  const auto place = std::lower_bound(entries_.begin(), entries_.end(), key,
                                      [](const auto& entry, const std::string& k) { return entry.first < k; });
  if (place != entries_.end() && place->first == key) place->second = std::move(value);
  else entries_.insert(place, {key, std::move(value)});
}

const Attribute* Attributes::find(std::string_view key) const {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) { return entry.first == key; });
  return found == entries_.end() ? nullptr : &found->second;
}

bool Attributes::flag(std::string_view key) const { return read<bool>(*this, key); }
std::int64_t Attributes::integer(std::string_view key) const { return read<std::int64_t>(*this, key); }
double Attributes::number(std::string_view key) const { return read<double>(*this, key); }
const std::string& Attributes::text(std::string_view key) const { return read<std::string>(*this, key); }
const Integers& Attributes::integers(std::string_view key) const { return read<Integers>(*this, key); }
DType Attributes::dtype(std::string_view key) const { return read<DType>(*this, key); }
const Array& Attributes::array(std::string_view key) const { return read<Array>(*this, key); }
const std::shared_ptr<const ElementwiseProgram>& Attributes::program(std::string_view key) const {
  return read<std::shared_ptr<const ElementwiseProgram>>(*this, key);
}

}  // namespace pando
