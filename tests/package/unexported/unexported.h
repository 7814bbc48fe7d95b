// SPDX-License-Identifier: Apache-2.0
// Declarations that no library has, for tools/check_exports.py to find.
#pragma once
#include <pando/base/shape.h>

namespace pando {

class PANDO_API Marked {
 public:
  Marked(int size = 3);
  int size() const { return size_; }
  template <class T>
  T as() const;
  friend bool operator==(const Marked& a, const Marked& b);
  friend bool operator!=(const Marked& a, const Marked& b) { return a.size_ != b.size_; }

 private:
  friend PANDO_API int size_of(const Marked& marked);
  int size_ = 0;
};

struct Unmarked {
  int size = {};
  int twice() const;
  int once() const { return size; }
  Unmarked& operator=(const Unmarked&) = default;
};

// Shapes have to_string() already: the overload is one more.
PANDO_API std::string to_string(const Shape& shape);
PANDO_API std::string to_string(const Marked& marked);

inline int three() { return 3; }
void forgotten(const std::vector<int>& numbers = {}, int count = three());

}  // namespace pando
