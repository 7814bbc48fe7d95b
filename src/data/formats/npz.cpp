// SPDX-License-Identifier: Apache-2.0
#include "data/formats/npz.h"

#include <fmt/format.h>

#include "data/formats/npy.h"
#include "io/zip.h"

namespace pando::data {

namespace {

constexpr std::string_view ending = ".npy";

}  // namespace

std::map<std::string, Array> read_npz(const ByteStore& store, std::uint64_t most_inflated) {
  std::map<std::string, Array> arrays;
  for (const auto& [name, part] : read_zip_directory(store)) {
    if (!name.ends_with(ending))
      store.fail(fmt::format("holds '{}', which is not an array", name), "only entries that end in .npy are read");
    const std::string key = name.substr(0, name.size() - ending.size());
    if (arrays.contains(key)) store.fail(fmt::format("holds '{}' twice", name), "save it again with numpy.savez");
    ByteFile file(fmt::format("{}: {}", store.path(), name), store, part, most_inflated);
    const Array array = read_npy(file);
    if (part.deflated) most_inflated -= array.bytes();
    arrays.emplace(key, array);
  }
  return arrays;
}

std::map<std::string, Array> read_npz(const std::string& path) { return read_npz(ByteStore(path)); }

void write_npz(const std::string& path, const std::map<std::string, Array>& arrays) {
  constexpr std::size_t longest_name = 0xffff - ending.size();
  ZipWriter archive(path);
  for (const auto& [name, array] : arrays) {
    if (name.size() > longest_name)
      throw_file_error(path, fmt::format("a name of {} bytes is too long", name.size()),
                       fmt::format("use names of at most {}", longest_name));
    const std::string entry = name + std::string(ending);
    archive.add(entry, npy_header(fmt::format("{}: {}", path, entry), array), {array.raw(), array.bytes()});
  }
  archive.commit();
}

}  // namespace pando::data
