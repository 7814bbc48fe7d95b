// SPDX-License-Identifier: Apache-2.0
// Elementwise ops and casts over contiguous blocks. The loops run over multiples of 16 elements, all in vectors, and
// the last elements of a block are padded to 16: so results do not depend on an element's place in a block.
#include "backends/cpu/routines/elementwise.h"

#include "backends/cpu/routines/vector.h"
#include "base/bfloat16.h"
#include "ops/scalar.h"

namespace pando::cpu::inline PANDO_INSTRUCTION_SET {

namespace {

constexpr std::int64_t chunk = 16;
// A block is computed as four parts side by side: each step of a polynomial waits for the one before, and meanwhile the
// core works on the other parts.
constexpr std::int64_t parts = 4;

// The position of each op in ops.def; it is its number in enum Op, whose header needs the standard library.
enum class Index {
#define PANDO_OP(name) name,
#include "ops/ops.def"
};

template <class T>
void copy(T* to, const T* from, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = from[i];
}

// Not inlined, so that there is only one version of its loops.
template <class Out, class F, class A>
[[gnu::noinline]] void apply_all(F f, Out* out, const A* a, std::int64_t count) {
  const std::int64_t part = count / (parts * chunk) * chunk;
  PANDO_VECTORISE
  for (std::int64_t i = 0; i < part; ++i) {
    const auto first = static_cast<Out>(f(a[i])), second = static_cast<Out>(f(a[i + part])),
               third = static_cast<Out>(f(a[i + 2 * part])), last = static_cast<Out>(f(a[i + 3 * part]));
    out[i] = first, out[i + part] = second, out[i + 2 * part] = third, out[i + 3 * part] = last;
  }
  PANDO_VECTORISE
  for (std::int64_t i = parts * part; i < count; ++i) out[i] = static_cast<Out>(f(a[i]));
}

template <class Out, class F, class A>
[[gnu::noinline]] void apply_all(F f, Out* out, const A* a, const A* b, std::int64_t count) {
  PANDO_VECTORISE
  for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<Out>(f(a[i], b[i]));
}

template <class Out, class F, class A>
void apply_unary(F f, void* out_memory, const void* a_memory, std::int64_t count) {
  auto* out = static_cast<Out*>(out_memory);
  const auto* a = static_cast<const A*>(a_memory);
  const std::int64_t whole = count / chunk * chunk, rest = count - whole;
  apply_all(f, out, a, whole);
  if (rest == 0) return;
  A padded[chunk] = {};
  Out results[chunk];
  copy(padded, a + whole, rest);
  apply_all(f, results, padded, chunk);
  copy(out + whole, results, rest);
}

template <class Out, class F, class A>
void apply_binary(F f, void* out_memory, const void* a_memory, const void* b_memory, std::int64_t count) {
  auto* out = static_cast<Out*>(out_memory);
  const auto *a = static_cast<const A*>(a_memory), *b = static_cast<const A*>(b_memory);
  const std::int64_t whole = count / chunk * chunk, rest = count - whole;
  apply_all(f, out, a, b, whole);
  if (rest == 0) return;
  A padded_a[chunk] = {}, padded_b[chunk] = {};
  Out results[chunk];
  copy(padded_a, a + whole, rest);
  copy(padded_b, b + whole, rest);
  apply_all(f, results, padded_a, padded_b, chunk);
  copy(out + whole, results, rest);
}

template <class T, class F>
void unary(void* out, const void* a, const void*, const void*, std::int64_t count, const double* parameters) {
  apply_unary<T, F, T>(F(parameters), out, a, count);
}

template <class T, class F, class Out = T>
void binary(void* out, const void* a, const void* b, const void*, std::int64_t count, const double* parameters) {
  apply_binary<Out, F, T>(F(parameters), out, a, b, count);
}

// Booleans are bytes of 0 or 1; as bytes their loops vectorise.
template <class F>
void logical_unary(void* out, const void* a, const void*, const void*, std::int64_t count, const double*) {
  const auto f = [](std::uint8_t x) -> std::uint8_t { return F()(x != 0); };
  apply_unary<std::uint8_t, decltype(f), std::uint8_t>(f, out, a, count);
}

template <class F>
void logical_binary(void* out, const void* a, const void* b, const void*, std::int64_t count, const double*) {
  const auto f = [](std::uint8_t x, std::uint8_t y) -> std::uint8_t { return F()(x != 0, y != 0); };
  apply_binary<std::uint8_t, decltype(f), std::uint8_t>(f, out, a, b, count);
}

// Chooses bits, so one version serves every type of a size.
template <class T>
void select(void* out_memory, const void* condition_memory, const void* a_memory, const void* b_memory,
            std::int64_t count, const double*) {
  auto* out = static_cast<T*>(out_memory);
  const auto* condition = static_cast<const std::uint8_t*>(condition_memory);
  const auto *a = static_cast<const T*>(a_memory), *b = static_cast<const T*>(b_memory);
  PANDO_VECTORISE
  for (std::int64_t i = 0; i < count; ++i) {
    const T chosen = a[i], other = b[i];
    out[i] = condition[i] != 0 ? chosen : other;
  }
}

template <class To>
struct Limits;
template <>
struct Limits<std::int32_t> {
  static constexpr double lowest = -0x1p31, beyond = 0x1p31;
  static constexpr std::int32_t largest = 0x7fffffff;
};
template <>
struct Limits<std::int64_t> {
  static constexpr double lowest = -0x1p63, beyond = 0x1p63;
  static constexpr std::int64_t largest = 0x7fffffffffffffff;
};
template <>
struct Limits<std::uint8_t> {
  static constexpr double lowest = 0, beyond = 256;
  static constexpr std::uint8_t largest = 255;
};

template <class T>
inline constexpr bool is_float = std::is_same_v<T, float> || std::is_same_v<T, double>;

// Truncates. A number out of range becomes the nearest one in range, and NaN becomes 0.
template <class To, class From>
inline To to_integer(From x) {
  using L = Limits<To>;
  const bool inside = x > From(L::lowest) && x < From(L::beyond);
  const To truncated = static_cast<To>(inside ? x : From(0));
  const To low = x <= From(L::lowest) ? static_cast<To>(L::lowest) : truncated;
  return x >= From(L::beyond) ? L::largest : low;
}

template <class To, class From>
inline To narrow(From x) {
  if constexpr (std::is_same_v<From, To>) return x;
  else if constexpr (sizeof(From) > sizeof(To)) {
    const From lowest = static_cast<From>(Limits<To>::lowest), largest = static_cast<From>(Limits<To>::largest);
    return static_cast<To>(x < lowest ? lowest : (x > largest ? largest : x));
  } else {
    return static_cast<To>(x);
  }
}

// How each DType is read and written: bool as its byte, bfloat16 through float.
struct Boolean {};

template <class To, class From>
struct Cast {
  static auto convert(From x) {
    if constexpr (std::is_same_v<From, BFloat16>) return Cast<To, float>::convert(to_float(x));
    else if constexpr (std::is_same_v<To, Boolean>) return static_cast<std::uint8_t>(x != From(0));
    else if constexpr (std::is_same_v<To, BFloat16>) return to_bfloat16(static_cast<float>(x));
    else if constexpr (is_float<To>) return static_cast<To>(x);
    else if constexpr (is_float<From>) return to_integer<To>(x);
    else return narrow<To>(x);
  }
};

template <class T>
struct MemoryOf {
  using type = T;
};
template <>
struct MemoryOf<Boolean> {
  using type = std::uint8_t;
};

template <class To, class From>
void cast(void* out, const void* a, const void*, const void*, std::int64_t count, const double*) {
  using Out = typename MemoryOf<To>::type;
  using A = typename MemoryOf<From>::type;
  const auto f = [](A x) { return Cast<To, A>::convert(x); };
  apply_unary<Out, decltype(f), A>(f, out, a, count);
}

// Copies bits, so that a NaN keeps its payload.
template <class T>
void copy_block(void* out, const void* a, const void*, const void*, std::int64_t count, const double*) {
  copy(static_cast<T*>(out), static_cast<const T*>(a), count);
}

constexpr int index(DType dtype) { return static_cast<int>(dtype); }

template <class To>
void fill_casts_to(ElementwiseRoutines& table, DType to) {
  table.cast[index(DType::float32)][index(to)] = cast<To, float>;
  table.cast[index(DType::float64)][index(to)] = cast<To, double>;
  table.cast[index(DType::bfloat16)][index(to)] = cast<To, BFloat16>;
  table.cast[index(DType::int32)][index(to)] = cast<To, std::int32_t>;
  table.cast[index(DType::int64)][index(to)] = cast<To, std::int64_t>;
  table.cast[index(DType::uint8)][index(to)] = cast<To, std::uint8_t>;
  table.cast[index(DType::boolean)][index(to)] = cast<To, Boolean>;
}

void fill_casts(ElementwiseRoutines& table) {
  fill_casts_to<float>(table, DType::float32);
  fill_casts_to<double>(table, DType::float64);
  fill_casts_to<BFloat16>(table, DType::bfloat16);
  fill_casts_to<std::int32_t>(table, DType::int32);
  fill_casts_to<std::int64_t>(table, DType::int64);
  fill_casts_to<std::uint8_t>(table, DType::uint8);
  fill_casts_to<Boolean>(table, DType::boolean);
  constexpr ElementwiseRoutine copies[ElementwiseRoutines::dtypes] = {
      copy_block<std::uint32_t>, copy_block<std::uint64_t>, copy_block<std::uint16_t>, copy_block<std::uint32_t>,
      copy_block<std::uint64_t>, copy_block<std::uint8_t>,  copy_block<std::uint8_t>};
  for (int i = 0; i < ElementwiseRoutines::dtypes; ++i) table.cast[i][i] = copies[i];
}

}  // namespace

void fill(ElementwiseRoutines& table) {
  table = {};
  const auto at = [&table](Index op, DType dtype) -> ElementwiseRoutine& {
    return table.by_op[static_cast<int>(op)][index(dtype)];
  };
#define PANDO_UNARY(name)                                              \
  at(Index::name, DType::float32) = unary<float, scalar::name<float>>; \
  at(Index::name, DType::float64) = unary<double, scalar::name<double>>;
#define PANDO_UNARY_NUMERIC(name)                                                  \
  PANDO_UNARY(name)                                                                \
  at(Index::name, DType::int32) = unary<std::int32_t, scalar::name<std::int32_t>>; \
  at(Index::name, DType::int64) = unary<std::int64_t, scalar::name<std::int64_t>>;
#define PANDO_BINARY(name)                                              \
  at(Index::name, DType::float32) = binary<float, scalar::name<float>>; \
  at(Index::name, DType::float64) = binary<double, scalar::name<double>>;
#define PANDO_BINARY_INTEGER(name)                                                  \
  at(Index::name, DType::int32) = binary<std::int32_t, scalar::name<std::int32_t>>; \
  at(Index::name, DType::int64) = binary<std::int64_t, scalar::name<std::int64_t>>;
#define PANDO_BINARY_NUMERIC(name) \
  PANDO_BINARY(name)               \
  PANDO_BINARY_INTEGER(name)
#define PANDO_COMPARISON(name)                                                                    \
  at(Index::name, DType::float32) = binary<float, scalar::name<float>, std::uint8_t>;             \
  at(Index::name, DType::float64) = binary<double, scalar::name<double>, std::uint8_t>;           \
  at(Index::name, DType::int32) = binary<std::int32_t, scalar::name<std::int32_t>, std::uint8_t>; \
  at(Index::name, DType::int64) = binary<std::int64_t, scalar::name<std::int64_t>, std::uint8_t>; \
  at(Index::name, DType::boolean) = binary<std::uint8_t, scalar::name<std::uint8_t>, std::uint8_t>;
#define PANDO_LOGICAL_1(name) at(Index::name, DType::boolean) = logical_unary<scalar::name>;
#define PANDO_LOGICAL_2(name) at(Index::name, DType::boolean) = logical_binary<scalar::name>;
#include "ops/ops.def"
  at(Index::select, DType::float32) = at(Index::select, DType::int32) = select<std::uint32_t>;
  at(Index::select, DType::float64) = at(Index::select, DType::int64) = select<std::uint64_t>;
  at(Index::select, DType::boolean) = select<std::uint8_t>;
  fill_casts(table);
}

}  // namespace pando::cpu::inline PANDO_INSTRUCTION_SET
