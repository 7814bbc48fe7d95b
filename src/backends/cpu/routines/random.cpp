#include "backends/cpu/routines/random.h"

#include "backends/cpu/routines/vector.h"
#include "base/philox.h"
#include "ops/scalar.h"

namespace pando::cpu::inline PANDO_INSTRUCTION_SET {

namespace {

// Blocks are made 16 at a time, across samples too, so that small samples vectorise as well.
constexpr int batch = 16, words = 4 * batch;

// Word k of block i of the batch stands at [k][i] while they are made.
struct Blocks {
  std::uint32_t word[4][batch];
};

template <int round>
inline void philox_rounds(std::uint32_t& a, std::uint32_t& b, std::uint32_t& c, std::uint32_t& d,
                          std::uint32_t key_low, std::uint32_t key_high) {
  const std::uint64_t p = std::uint64_t{0xD2511F53u} * a, q = std::uint64_t{0xCD9E8D57u} * c;
  a = static_cast<std::uint32_t>(q >> 32) ^ b ^ key_low;
  b = static_cast<std::uint32_t>(q);
  c = static_cast<std::uint32_t>(p >> 32) ^ d ^ key_high;
  d = static_cast<std::uint32_t>(p);
  if constexpr (round > 1) philox_rounds<round - 1>(a, b, c, d, key_low + 0x9E3779B9u, key_high + 0xBB67AE85u);
}

// philox::generate on 16 counters at once; unrolled by recursion, because a loop over the rounds would not vectorise.
inline void generate(Blocks& blocks, std::uint64_t seed) {
  const auto key_low = static_cast<std::uint32_t>(seed), key_high = static_cast<std::uint32_t>(seed >> 32);
  PANDO_VECTORISE
  for (int i = 0; i < batch; ++i) {
    std::uint32_t a = blocks.word[0][i], b = blocks.word[1][i], c = blocks.word[2][i], d = blocks.word[3][i];
    philox_rounds<10>(a, b, c, d, key_low, key_high);
    blocks.word[0][i] = a;
    blocks.word[1][i] = b;
    blocks.word[2][i] = c;
    blocks.word[3][i] = d;
  }
}

// Walks over the blocks of all samples.
struct Place {
  std::int64_t sample, block;
};

// The words of `count` blocks from `place` on, which moves behind them; words[4 i + k] is word k of block i.
inline void draw(std::uint32_t* result, const RandomSequence& sequence, Place place) {
  const std::int64_t blocks_per_sample = sequence.blocks_per_sample();
  Blocks blocks;
  for (int i = 0; i < batch; ++i) {
    blocks.word[0][i] = static_cast<std::uint32_t>(place.block);
    blocks.word[1][i] = sequence.first_sample + static_cast<std::uint32_t>(place.sample);
    blocks.word[2][i] = sequence.update;
    blocks.word[3][i] = sequence.stream;
    if (++place.block == blocks_per_sample) place = {place.sample + 1, 0};
  }
  generate(blocks, sequence.seed);
  for (int i = 0; i < batch; ++i)
    for (int k = 0; k < 4; ++k) result[4 * i + k] = blocks.word[k][i];
}

// Calls make(values, words) for each batch of blocks and use(element, values, n) for the runs of elements they belong
// to: a sample whose size is no multiple of 4 leaves the last words of its last block unused.
template <class T, class Make, class Use>
inline void for_batches(const RandomSequence& sequence, std::int64_t first, std::int64_t last, Make make, Use use) {
  const std::int64_t size = sequence.elements_per_sample, blocks_per_sample = sequence.blocks_per_sample();
  const bool whole = size % 4 == 0;
  std::uint32_t drawn[words];
  T values[words];
  for (std::int64_t begin = first; begin < last; begin += batch) {
    const std::int64_t count = last - begin < batch ? last - begin : batch;
    Place place = {begin / blocks_per_sample, begin % blocks_per_sample};
    draw(drawn, sequence, place);
    make(values, drawn);
    if (whole) {
      use(4 * begin, values, 4 * count);
      continue;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t element = 4 * place.block, rest = size - element;
      use(place.sample * size + element, values + 4 * i, rest < 4 ? rest : 4);
      if (++place.block == blocks_per_sample) place = {place.sample + 1, 0};
    }
  }
}

template <class T>
void dropout(T* out, const T* x, const RandomSequence& sequence, std::int64_t first, std::int64_t last, double rate) {
  const auto threshold = static_cast<float>(rate);
  const T scale = T(1 / (1 - rate));
  const auto make = [=](T* keep, const std::uint32_t* drawn) {
    for (int i = 0; i < words; ++i) keep[i] = philox::uniform(drawn[i]) >= threshold ? scale : T(0);
  };
  const auto use = [=](std::int64_t element, const T* keep, std::int64_t count) {
    T* to = out + element;
    const T* from = x + element;
    PANDO_VECTORISE
    for (std::int64_t i = 0; i < count; ++i) {
      const T scaled = from[i] * keep[i];
      // A dropped infinity is 0 too.
      to[i] = keep[i] == T(0) ? T(0) : scaled;
    }
  };
  for_batches<T>(sequence, first, last, make, use);
}

template <class T>
inline auto copier(T* out) {
  return [out](std::int64_t element, const T* values, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) out[element + i] = values[i];
  };
}

template <class T>
void uniform(T* out, const RandomSequence& sequence, std::int64_t first, std::int64_t last, double low, double high) {
  const T offset = T(low), range = T(high - low);
  const auto make = [=](T* values, const std::uint32_t* drawn) {
    for (int i = 0; i < words; ++i) values[i] = offset + range * T(philox::uniform(drawn[i]));
  };
  for_batches<T>(sequence, first, last, make, copier(out));
}

// sin and cos of a full turn times u, 0 <= u < 1.
inline void sine_and_cosine(double u, double& sine, double& cosine) {
  sine = __builtin_sin(6.283185307179586 * u);
  cosine = __builtin_cos(6.283185307179586 * u);
}
inline void sine_and_cosine(float u, float& sine, float& cosine) {
  // The nearest quarter turn is taken away without rounding; what is left lies within an eighth of a turn.
  const auto quarter = static_cast<std::int32_t>(u * 4.0f + 0.5f);
  const float x = (u - static_cast<float>(quarter) * 0.25f) * 6.2831853072f, s = x * x;
  const float near_sine = x + x * s * (-1.6666654611e-1f + s * (8.3321608736e-3f - s * 1.9515295891e-4f));
  const float near_cosine =
      1.0f - 0.5f * s + s * s * (4.166664568298827e-2f + s * (-1.388731625493765e-3f + s * 2.443315711809948e-5f));
  const bool swap = (quarter & 1) != 0;
  const float at_sine = swap ? near_cosine : near_sine, at_cosine = swap ? near_sine : near_cosine;
  sine = (quarter & 2) != 0 ? -at_sine : at_sine;
  cosine = ((quarter + 1) & 2) != 0 ? -at_cosine : at_cosine;
}

// Box-Muller: two words make two normal numbers.
template <class T>
void normal(T* out, const RandomSequence& sequence, std::int64_t first, std::int64_t last, double mean,
            double deviation) {
  const T offset = T(mean), scale = T(deviation);
  const auto make = [=](T* values, const std::uint32_t* drawn) {
    for (int i = 0; i < words / 2; ++i) {
      // In (0, 1], so that the logarithm is finite.
      const T u = T(1.0f - philox::uniform(drawn[2 * i])), turn = T(philox::uniform(drawn[2 * i + 1]));
      const T radius = scale * scalar::math::sqrt(T(-2) * scalar::math::log(u));
      T sine, cosine;
      sine_and_cosine(turn, sine, cosine);
      values[2 * i] = offset + radius * cosine;
      values[2 * i + 1] = offset + radius * sine;
    }
  };
  for_batches<T>(sequence, first, last, make, copier(out));
}

}  // namespace

void fill(RandomRoutines& table) {
  table.float32 = {dropout<float>, uniform<float>, normal<float>};
  table.float64 = {dropout<double>, uniform<double>, normal<double>};
}

}  // namespace pando::cpu::inline PANDO_INSTRUCTION_SET
