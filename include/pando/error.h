// The two exceptions of Pando: Error is the user's to mend, InternalError ours.
#pragma once
#include <pando/export.h>

#include <stdexcept>
#include <string>

namespace pando {

// Something the caller can mend; the text names the place, the values and the remedy.
class PANDO_API Error : public std::runtime_error {
 public:
  explicit Error(const std::string& text) : std::runtime_error(text) {}
};

// A promise inside Pando was broken; please report it.
class PANDO_API InternalError : public std::logic_error {
 public:
  explicit InternalError(const std::string& text) : std::logic_error("internal error: " + text) {}
};

}  // namespace pando
