// SPDX-License-Identifier: Apache-2.0
// Files of arrays: IDX, the format of MNIST; NPY and NPZ, those of NumPy; CSV tables.
#pragma once
#include <pando/base/array.h>

#include <map>
#include <string>
#include <vector>

// All functions throw Error if a file is wrong, naming the file, the problem and the remedy. Memory is never allocated
// just because a file announces a size. A new file is written next to the old one and then replaces it, so a full disk
// or a crash leaves the old file whole.
namespace pando::data {

// uint8, int32, float32 and float64; gzipped files are read too, and written if the path ends in .gz.
PANDO_API Array read_idx(const std::string& path);
PANDO_API void write_idx(const std::string& path, const Array& array);

// NPY files of version 1 and 2, little-endian, in C order: float32, float64, int32, int64, uint8 and bool. Gzipped
// files as for IDX.
PANDO_API Array read_npy(const std::string& path);
PANDO_API void write_npy(const std::string& path, const Array& array);

// What numpy.savez and numpy.savez_compressed write: arrays as in NPY files, by name. Writes them as savez does.
PANDO_API std::map<std::string, Array> read_npz(const std::string& path);
PANDO_API void write_npz(const std::string& path, const std::map<std::string, Array>& arrays);

// A table of numbers, one line for each row, with one column of labels, which may be words.
struct CsvTable {
  // The names of the columns of numbers, as the first line gives them.
  std::vector<std::string> columns = {};
  // float32 [rows, columns].
  Array values = {};
  // The name of the column of labels, and the label of each row as it is written; both empty if there is none.
  std::string label = {};
  std::vector<std::string> labels = {};
  // Why rows were left out, "line 7: 'x' in the column 'width' is not a number", if CsvOptions allow it.
  std::vector<std::string> skipped = {};
};
struct CsvOptions {
  // The column of labels; empty means the last one.
  std::string label = {};
  // If not set, all columns are numbers.
  bool has_labels = true;
  // Leaves out rows that cannot be read, instead of throwing Error at the first.
  bool skip_bad = false;
};
// The first line names the columns. Cells are separated by commas, semicolons or tabs: by the character that the first
// line has most of. They may be quoted, as RFC 4180 says. Gzipped files are read, too.
PANDO_API CsvTable read_csv(const std::string& path, const CsvOptions& options = {});

}  // namespace pando::data
