// SPDX-License-Identifier: Apache-2.0
// NumPy-like functions on Arrays. All throw Error naming the function, the shapes and the remedy.
#pragma once
#include <pando/base/array.h>

#include <iosfwd>
#include <optional>

namespace pando {

// Arithmetic promotes types:
// - Two floating types (bfloat16, float32, float64) give the larger one, and so do two integers (uint8, int32, int64).
// - An integer with float64 gives float64, and with a smaller floating type float32.
// - bool takes the other type, and two bools count as int64.
// - `/`, sqrt, exp and log turn integers into float32.
// - A scalar takes the type of its array if that is floating. A whole scalar also takes an integer type (Error if it
//   does not fit). Any other scalar is a float32.
// - Integers wrap around.

// new arrays
PANDO_API Array zeros(const Shape& shape, DType dtype = DType::float32);
PANDO_API Array ones(const Shape& shape, DType dtype = DType::float32);
PANDO_API Array full(const Shape& shape, double value, DType dtype = DType::float32);
// 0, 1, ..., count - 1.
PANDO_API Array arange(std::int64_t count, DType dtype = DType::int64);
// first, first + step, ... before last; int64 if all three are whole and float64 otherwise, unless given.
PANDO_API Array arange(double first, double last, double step = 1, std::optional<DType> dtype = {});
// The identity matrix [size, size].
PANDO_API Array eye(std::int64_t size, DType dtype = DType::float32);

// shape; expand_dims and squeeze share their elements with the argument
PANDO_API Array expand_dims(const Array& a, std::int64_t axis);
// Without an axis, removes all axes of size 1.
PANDO_API Array squeeze(const Array& a, std::optional<std::int64_t> axis = {});
// The result has the promoted type; all sizes but that of `axis` must be equal.
PANDO_API Array concatenate(const Arrays& arrays, std::int64_t axis = 0);
// Arrays of equal shapes along a new axis.
PANDO_API Array stack(const Arrays& arrays, std::int64_t axis = 0);
// The axes in reverse order, or in that of `permutation`.
PANDO_API Array transpose(const Array& a);
PANDO_API Array transpose(const Array& a, const std::vector<std::int64_t>& permutation);
// Rows of `a`: [indices' shape, a's sizes after the first]. Negative indices count from the end.
PANDO_API Array take(const Array& a, const Array& indices);
PANDO_API Array take(const Array& a, const std::vector<std::int64_t>& indices);

// reductions over all elements or one axis. Sums are accumulated in float64, or int64 for integers, whose sum is int64
// and whose mean is float64; for bfloat16 both are float32.
PANDO_API Array sum(const Array& a, std::optional<std::int64_t> axis = {}, bool keep_dims = false);
PANDO_API Array mean(const Array& a, std::optional<std::int64_t> axis = {}, bool keep_dims = false);
// The deviation of the whole population: the sum of squares is divided by the number of elements.
PANDO_API Array standard_deviation(const Array& a, std::optional<std::int64_t> axis = {}, bool keep_dims = false);
// NaN is larger than everything to max and argmax, and smaller to min and argmin. An empty array is an Error.
PANDO_API Array max(const Array& a, std::optional<std::int64_t> axis = {}, bool keep_dims = false);
PANDO_API Array min(const Array& a, std::optional<std::int64_t> axis = {}, bool keep_dims = false);
// int64; of equal elements, the first. Without an axis, the index into the flattened array.
PANDO_API Array argmax(const Array& a, std::optional<std::int64_t> axis = {}, bool keep_dims = false);
PANDO_API Array argmin(const Array& a, std::optional<std::int64_t> axis = {}, bool keep_dims = false);

// comparisons: bool arrays; shapes broadcast, types may differ and are compared by value
PANDO_API Array equal(const Array& a, const Array& b);
PANDO_API Array equal(const Array& a, double b);
PANDO_API Array not_equal(const Array& a, const Array& b);
PANDO_API Array not_equal(const Array& a, double b);
PANDO_API Array less(const Array& a, const Array& b);
PANDO_API Array less(const Array& a, double b);
PANDO_API Array less_equal(const Array& a, const Array& b);
PANDO_API Array less_equal(const Array& a, double b);
PANDO_API Array greater(const Array& a, const Array& b);
PANDO_API Array greater(const Array& a, double b);
PANDO_API Array greater_equal(const Array& a, const Array& b);
PANDO_API Array greater_equal(const Array& a, double b);
PANDO_API Array isnan(const Array& a);
// Whether shapes and values are equal; types may differ.
PANDO_API bool array_equal(const Array& a, const Array& b);
// Whether |a - b| <= atol + rtol * |b| everywhere, or both are the same infinity; shapes broadcast.
PANDO_API bool allclose(const Array& a, const Array& b, double rtol = 1e-5, double atol = 1e-8);

// arithmetic; shapes broadcast
PANDO_API Array operator+(const Array& a, const Array& b);
PANDO_API Array operator+(const Array& a, double b);
PANDO_API Array operator+(double a, const Array& b);
PANDO_API Array operator-(const Array& a, const Array& b);
PANDO_API Array operator-(const Array& a, double b);
PANDO_API Array operator-(double a, const Array& b);
PANDO_API Array operator*(const Array& a, const Array& b);
PANDO_API Array operator*(const Array& a, double b);
PANDO_API Array operator*(double a, const Array& b);
PANDO_API Array operator/(const Array& a, const Array& b);
PANDO_API Array operator/(const Array& a, double b);
PANDO_API Array operator/(double a, const Array& b);
PANDO_API Array operator-(const Array& a);
PANDO_API Array maximum(const Array& a, const Array& b);
PANDO_API Array maximum(const Array& a, double b);
PANDO_API Array minimum(const Array& a, const Array& b);
PANDO_API Array minimum(const Array& a, double b);
PANDO_API Array clip(const Array& a, double low, double high);
PANDO_API Array abs(const Array& a);
PANDO_API Array square(const Array& a);
PANDO_API Array sqrt(const Array& a);
PANDO_API Array exp(const Array& a);
PANDO_API Array log(const Array& a);
// Elements of `a` where the condition is not zero, of `b` elsewhere, promoted; all three broadcast.
PANDO_API Array where(const Array& condition, const Array& a, const Array& b);

// As NumPy prints it: rows in brackets, with "..." in the middle if there are more than 1000 elements.
PANDO_API std::string to_string(const Array& a);
PANDO_API std::ostream& operator<<(std::ostream& stream, const Array& a);

}  // namespace pando
