// SPDX-License-Identifier: Apache-2.0
// Tables of the user: CSV files with a column of labels.
#pragma once
#include <pando/datasets/datasets.h>

namespace pando {

// Whether the name is that of a CSV file, plain or gzipped.
bool is_table_name(const std::string& path);

// As datasets::load_own for a CSV file, and for one to train on and one to test with. Throws Error, naming the file and
// the remedy.
datasets::OwnData read_table(const std::string& path, const datasets::OwnDataOptions& options);
datasets::OwnData read_tables(const std::string& train, const std::string& test,
                              const datasets::OwnDataOptions& options);

}  // namespace pando
