// SPDX-License-Identifier: Apache-2.0
#include <pando/version.h>

namespace pando {

std::string version() { return PANDO_VERSION; }

}  // namespace pando
