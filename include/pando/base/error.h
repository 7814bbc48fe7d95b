// SPDX-License-Identifier: Apache-2.0
// The exceptions of Pando: Error is for what the caller can fix, InternalError for defects of Pando.
#pragma once
#include <pando/base/export.h>

#include <stdexcept>
#include <string>

namespace pando {

// Something the caller can fix; the text names the place, the values and the remedy.
class PANDO_API Error : public std::runtime_error {
 public:
  explicit Error(const std::string& text) : std::runtime_error(text) {}
};

// The data has ended: an iterator has no further element. Programs catch it to begin the next epoch.
class PANDO_API OutOfRange : public Error {
 public:
  using Error::Error;
};

// A promise inside Pando was broken; please report it.
class PANDO_API InternalError : public std::logic_error {
 public:
  explicit InternalError(const std::string& text) : std::logic_error("internal error: " + text) {}
};

}  // namespace pando
