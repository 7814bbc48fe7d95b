// SPDX-License-Identifier: Apache-2.0
#include <pando/base/function.h>

#include "data/formats/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "io/byte_order.h"
#include "io/byte_store.h"
#include "io/file_writer.h"
#include "io/json.h"

namespace pando::data {

namespace {

constexpr const char* save_again = "save it again with safetensors.numpy.save_file";
constexpr std::uint64_t length_size = 8, alignment = 8;
// The limit of other readers.
constexpr std::uint64_t largest_header = 100'000'000;
constexpr std::string_view metadata_name = "__metadata__";

struct StoredType {
  std::string_view code;
  DType dtype;
};
constexpr StoredType stored_types[] = {{"F64", DType::float64}, {"F32", DType::float32}, {"BF16", DType::bfloat16},
                                       {"I64", DType::int64},   {"I32", DType::int32},   {"U8", DType::uint8},
                                       {"BOOL", DType::boolean}};

std::string_view code_of(DType dtype) {
  return std::find_if(std::begin(stored_types), std::end(stored_types),
                      [&](const StoredType& type) { return type.dtype == dtype; })
      ->code;
}

// An array as the header announces it.
struct Entry {
  std::string name;
  DType dtype = DType::float32;
  Shape shape;
  // Counted from the end of the header.
  std::uint64_t begin = 0, end = 0;
};

class Reader {
 public:
  explicit Reader(const ByteStore& store) : store_(store) {}

  Safetensors read() {
    Safetensors contents;
    const std::vector<Entry> entries = read_entries(contents);
    check_places(entries);
    for (const Entry& entry : entries) contents.tensors.push_back({entry.name, read_array(entry)});
    return contents;
  }
  std::vector<std::pair<std::string, std::string>> metadata() {
    Safetensors contents;
    read_entries(contents);
    return std::move(contents.metadata);
  }

 private:
  // Reads the header: the arrays that it announces, and `contents.metadata`.
  std::vector<Entry> read_entries(Safetensors& contents) {
    const std::string text = read_header();
    std::vector<Entry> entries;
    try {
      const Json header = Json::parse(text, "its header");
      for (const auto& [name, value] : header.object("its header"))
        if (name == metadata_name) contents.metadata = read_metadata(value);
        else entries.push_back(read_entry(name, value));
    } catch (const Error& error) {
      store_.fail(error.what(), save_again);
    }
    return entries;
  }
  std::string read_header() {
    std::array<std::byte, length_size> length_bytes;
    if (store_.read(0, length_bytes) < length_size)
      store_.fail(fmt::format("is not a safetensors file: it has only {} bytes", store_.size()), save_again);
    const std::uint64_t length = little_endian(length_bytes);
    if (length > largest_header || length > store_.size() - length_size)
      store_.fail(fmt::format("is not a safetensors file, or was cut off: it announces a header of {} bytes", length),
                  save_again);
    data_ = length_size + length;
    std::string text(static_cast<std::size_t>(length), ' ');
    read_exactly(length_size, std::as_writable_bytes(std::span(text)));
    return text;
  }

  // The size of the file was looked up when it was opened.
  void read_exactly(std::uint64_t offset, std::span<std::byte> out) const {
    if (store_.read(offset, out) < out.size()) store_.fail("was cut off while it was read", "read it again");
  }

  static std::vector<std::pair<std::string, std::string>> read_metadata(const Json& value) {
    std::vector<std::pair<std::string, std::string>> metadata;
    for (const auto& [name, text] : value.object(metadata_name))
      metadata.emplace_back(name, text.string(fmt::format("'{}' of {}", name, metadata_name)));
    return metadata;
  }

  static Entry read_entry(const std::string& name, const Json& value) {
    const auto member = [&](const char* key) -> const Json& {
      const Json* found = value.find(key);
      if (found == nullptr) throw Error(fmt::format("'{}' has no '{}'", name, key));
      return *found;
    };
    const auto what = [&](const char* key) { return fmt::format("the {} of '{}'", key, name); };
    Entry entry;
    entry.name = name;
    const std::string& code = member("dtype").string(what("dtype"));
    const auto* type = std::find_if(std::begin(stored_types), std::end(stored_types),
                                    [&](const StoredType& known) { return known.code == code; });
    if (type == std::end(stored_types))
      throw Error(fmt::format("'{}' has elements of the type {}, and F64, F32, BF16, I64, I32, U8 and BOOL are read",
                              name, code));
    entry.dtype = type->dtype;
    for (const Json& size : member("shape").list(what("shape"))) entry.shape.append(natural(size, what("shape")));
    const Json::List& offsets = member("data_offsets").list(what("data_offsets"));
    if (offsets.size() != 2)
      throw Error(fmt::format("{} are {} numbers but should be 2", what("data_offsets"), offsets.size()));
    entry.begin = static_cast<std::uint64_t>(natural(offsets[0], what("data_offsets")));
    entry.end = static_cast<std::uint64_t>(natural(offsets[1], what("data_offsets")));
    if (entry.end < entry.begin || entry.end - entry.begin != announced_bytes(entry))
      throw Error(fmt::format("'{}' lies from {} to {}, which does not fit its {}{}", name, entry.begin, entry.end,
                              pando::name(entry.dtype), to_string(entry.shape)));
    return entry;
  }

  static std::int64_t natural(const Json& value, const std::string& what) {
    const std::int64_t number = value.integer(what);
    if (number < 0) throw Error(fmt::format("{} has the number {}", what, number));
    return number;
  }

  static std::uint64_t announced_bytes(const Entry& entry) {
    // Sizes after a 0 count too, because strides are computed from them.
    auto bytes = static_cast<std::int64_t>(size_of(entry.dtype));
    for (const std::int64_t size : entry.shape)
      if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(size, 1), &bytes))
        throw Error(fmt::format("'{}' has the impossible shape {}", entry.name, to_string(entry.shape)));
    return entry.shape.elements() == 0 ? 0 : static_cast<std::uint64_t>(bytes);
  }

  // Every byte belongs to one array.
  void check_places(const std::vector<Entry>& entries) const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> places;
    for (const Entry& entry : entries) places.emplace_back(entry.begin, entry.end);
    std::sort(places.begin(), places.end());
    std::uint64_t at = 0;
    for (const auto& [begin, end] : places) {
      if (begin != at) store_.fail(fmt::format("has a gap or an overlap at byte {} of its data", at), save_again);
      at = end;
    }
    if (const std::uint64_t there = store_.size() - data_; at != there)
      store_.fail(fmt::format("has {} bytes of data, but its header announces {}", there, at), save_again);
  }

  Array read_array(const Entry& entry) const {
    Array array = Array::uninitialised(entry.dtype, entry.shape);
    const std::span<std::byte> bytes(array.mutable_raw(), array.bytes());
    read_exactly(data_ + entry.begin, bytes);
    // In C++ a bool whose byte is neither 0 nor 1 is undefined.
    if (entry.dtype == DType::boolean)
      for (std::byte& byte : bytes) byte = std::byte{byte != std::byte{0}};
    return array;
  }

  const ByteStore& store_;
  std::uint64_t data_ = 0;
};

// The widest elements come first, so that all lie at multiples of their size.
std::vector<const NamedArray*> order_of_data(const Safetensors& contents) {
  std::vector<const NamedArray*> order;
  for (const NamedArray& tensor : contents.tensors) order.push_back(&tensor);
  std::stable_sort(order.begin(), order.end(), [](const NamedArray* a, const NamedArray* b) {
    return size_of(a->array.dtype()) > size_of(b->array.dtype());
  });
  return order;
}

void check_names(const std::string& path, const Safetensors& contents) {
  std::set<std::string> names;
  for (const NamedArray& tensor : contents.tensors) {
    if (tensor.name == metadata_name)
      throw_file_error(path, fmt::format("an array cannot be named '{}'", metadata_name), "give it another name");
    if (!names.insert(tensor.name).second)
      throw_file_error(path, fmt::format("two arrays are named '{}'", tensor.name), "give them different names");
  }
}

Json header_of(const Safetensors& contents, const std::vector<const NamedArray*>& order) {
  std::map<const NamedArray*, std::int64_t> begins;
  std::int64_t at = 0;
  for (const NamedArray* tensor : order) {
    begins[tensor] = at;
    at += static_cast<std::int64_t>(tensor->array.bytes());
  }
  Json::Object header;
  if (!contents.metadata.empty()) {
    Json::Object metadata;
    for (const auto& [name, text] : contents.metadata) metadata.emplace_back(name, text);
    header.emplace_back(metadata_name, std::move(metadata));
  }
  for (const NamedArray& tensor : contents.tensors) {
    Json::List shape;
    for (const std::int64_t size : tensor.array.shape()) shape.emplace_back(size);
    const std::int64_t begin = begins[&tensor], end = begin + static_cast<std::int64_t>(tensor.array.bytes());
    header.emplace_back(tensor.name, Json::Object{{"dtype", code_of(tensor.array.dtype())},
                                                  {"shape", std::move(shape)},
                                                  {"data_offsets", Json::List{begin, end}}});
  }
  return header;
}

using Write = Function<void(std::span<const std::byte>)>;

void write_contents(const std::string& path, const Safetensors& contents, const Write& write) {
  check_names(path, contents);
  const std::vector<const NamedArray*> order = order_of_data(contents);
  std::string text = header_of(contents, order).text();
  text.append((alignment - text.size() % alignment) % alignment, ' ');
  if (text.size() > largest_header)
    throw_file_error(path, fmt::format("its header would have {} bytes", text.size()), "write fewer arrays into it");
  std::vector<std::byte> length;
  append_little_endian(length, text.size(), static_cast<int>(length_size));
  write(length);
  write(std::as_bytes(std::span(text)));
  for (const NamedArray* tensor : order) write({tensor->array.raw(), tensor->array.bytes()});
}

}  // namespace

void write_safetensors(const std::string& path, const Safetensors& contents) {
  FileWriter file(path);
  write_contents(path, contents, [&](std::span<const std::byte> bytes) { file.write(bytes); });
  file.commit();
}

Safetensors read_safetensors(const std::string& path) { return Reader(ByteStore(path)).read(); }

std::vector<std::pair<std::string, std::string>> read_safetensors_metadata(const ByteStore& store) {
  return Reader(store).metadata();
}

Safetensors parse_safetensors(std::span<const std::byte> bytes, const std::string& name) {
  return Reader(ByteStore(name, bytes)).read();
}

std::vector<std::byte> safetensors_bytes(const Safetensors& contents) {
  std::vector<std::byte> all;
  write_contents("safetensors", contents,
                 [&](std::span<const std::byte> bytes) { all.insert(all.end(), bytes.begin(), bytes.end()); });
  return all;
}

}  // namespace pando::data
