// SPDX-License-Identifier: Apache-2.0
// Regularizers: a penalty on the size of weights that is added to the loss.
#pragma once
#include <pando/base/export.h>

#include <string>

namespace pando::keras {

namespace regularizers {

// l1 * sum |w| + l2 * sum w^2.
class PANDO_API Regularizer {
 public:
  // No penalty.
  Regularizer() = default;
  Regularizer(double l1, double l2) : l1_(l1), l2_(l2) {}
  // "l1", "l2" or "l1_l2", each with 0.01. Throws Error with the nearest name.
  Regularizer(const char* name) : Regularizer(std::string(name)) {}
  Regularizer(const std::string& name);

  explicit operator bool() const { return l1_ != 0 || l2_ != 0; }
  double l1() const { return l1_; }
  double l2() const { return l2_; }

 private:
  double l1_ = 0;
  double l2_ = 0;
};

// l1 * sum |w|.
inline Regularizer L1(double l1 = 0.01) { return {l1, 0}; }
// l2 * sum w^2.
inline Regularizer L2(double l2 = 0.01) { return {0, l2}; }
// Both.
inline Regularizer L1L2(double l1 = 0.01, double l2 = 0.01) { return {l1, l2}; }

}  // namespace regularizers

using regularizers::Regularizer;

}  // namespace pando::keras
