// SPDX-License-Identifier: Apache-2.0
// The texts that are made from the description of the commands.
#pragma once
#include <string>

#include "cli/options.h"

namespace pando::cli {

// At most 80 columns wide.
std::string help_text();
std::string help_text(const Command& command);
// "usage: pando train MODEL [options]"
std::string usage_line(const std::string& command);

// The manual page, in troff.
std::string man_page(const std::string& version);
// "bash", "zsh" or "fish".
std::string completions(const std::string& shell);

}  // namespace pando::cli
