// SPDX-License-Identifier: Apache-2.0
// LogPath: a path with fields that the end of an epoch fills, "w-{epoch:02d}-{val_loss:.3f}", as Python's str.format().
#pragma once
#include <pando/frontends/keras/history.h>

#include <string>
#include <vector>

namespace pando::keras {

class LogPath {
 public:
  // `who` begins messages. Throws Error for an unmatched brace, and for a format that is not for numbers.
  LogPath(const std::string& who, const std::string& text);

  // The logs that it names.
  std::vector<std::string> logs() const;
  // `epoch` is counted from 1. Throws Error for a missing log.
  std::string filled(std::int64_t epoch, const Logs& logs) const;

 private:
  // Literal text, then a field; the last part has no field.
  struct Part {
    std::string text, name, format;
  };
  std::string who_;
  std::vector<Part> parts_;
};

}  // namespace pando::keras
