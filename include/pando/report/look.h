// SPDX-License-Identifier: Apache-2.0
// The look of progress bars and summaries: that of Keras 3 or that of Keras 2.
#pragma once
#include <pando/base/export.h>

namespace pando {

enum class Look { keras_3, keras_2 };

// The look of everything that is printed from now on, on all threads. Until the first call the environment variable
// PANDO_LOOK decides, "keras2" or "keras3"; without it, it is the look of Keras 3.
PANDO_API void set_look(Look look);

// Throws Error if PANDO_LOOK decides and has another value.
PANDO_API Look look();

}  // namespace pando
