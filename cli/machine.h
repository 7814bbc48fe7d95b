// SPDX-License-Identifier: Apache-2.0
// What is known about the machine that a command runs on.
#pragma once
#include <string>

namespace pando::cli {

// "Neoverse-N1", "Intel(R) Xeon(R) Platinum 8481C"; "unknown" where the system does not say.
std::string processor_name();
// Cores of the whole machine; base/machine/cores.h counts those that this process may use.
int all_cores();
// Whether the processor multiplies bfloat16, which makes --precision mixed_bfloat16 faster.
bool multiplies_bfloat16();

}  // namespace pando::cli
