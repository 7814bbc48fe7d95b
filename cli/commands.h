// SPDX-License-Identifier: Apache-2.0
// The commands of `pando`, and what is said about all of them.
#pragma once
#include "cli/options.h"

namespace pando::cli {

const std::vector<Command>& commands();
// Null if there is none.
const Command* find_command(const std::string& name);
// Options of `pando` itself.
const std::vector<Option>& global_options();

struct Described {
  std::string name;
  std::string text;
};
// Exit statuses, and the variables of the environment that matter.
const std::vector<Described>& exit_statuses();
const std::vector<Described>& environment_variables();

// What each command does, in the file of its name.
int train(const Arguments& arguments);
int evaluate(const Arguments& arguments);
int predict(const Arguments& arguments);
int explain(const Arguments& arguments);
int summary(const Arguments& arguments);
int devices(const Arguments& arguments);
int datasets(const Arguments& arguments);
int bench(const Arguments& arguments);
int bench_network(const Arguments& arguments);
int launch(const Arguments& arguments);
int doctor(const Arguments& arguments);

}  // namespace pando::cli
