// SPDX-License-Identifier: Apache-2.0
// message: the text of the Error that a call throws, for comparing it word for word.
#pragma once
#include <pando/base/error.h>

#include <string>

namespace pando {

template <class Call>
std::string message(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "(nothing was thrown)";
}

}  // namespace pando
