// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace pando::cli {

// The name of the newest checkpoint in a folder; empty if there is none.
std::string newest_checkpoint(const std::string& folder);

}  // namespace pando::cli
