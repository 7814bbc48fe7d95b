// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace pando {

// Whether the calling thread exchanges messages while others compute: it then sleeps while it waits, because they need
// its core more than it needs to be quick.
inline thread_local bool is_in_background = false;

}  // namespace pando
