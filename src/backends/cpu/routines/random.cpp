// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/routines/random.h"

#include "backends/cpu/routines/vector.h"
#include "base/philox.h"
#include "ops/normal.h"

namespace pando::cpu::inline PANDO_INSTRUCTION_SET {

namespace {

// Blocks are made 16 at a time, across samples too, so that small samples vectorise as well.
constexpr int batch = 16, words = 4 * batch;

template <int round>
inline void philox_rounds(std::uint32_t& a, std::uint32_t& b, std::uint32_t& c, std::uint32_t& d, std::uint32_t key_low,
                          std::uint32_t key_high) {
  const std::uint64_t p = std::uint64_t{0xD2511F53u} * a, q = std::uint64_t{0xCD9E8D57u} * c;
  a = static_cast<std::uint32_t>(q >> 32) ^ b ^ key_low;
  b = static_cast<std::uint32_t>(q);
  c = static_cast<std::uint32_t>(p >> 32) ^ d ^ key_high;
  d = static_cast<std::uint32_t>(p);
  if constexpr (round > 1) philox_rounds<round - 1>(a, b, c, d, key_low + 0x9E3779B9u, key_high + 0xBB67AE85u);
}

// Walks over the blocks of all samples.
struct Place {
  std::int64_t sample, block;
};

inline Place behind(Place place, std::int64_t count, std::int64_t blocks_per_sample) {
  place.block += count;
  if (place.block < blocks_per_sample) return place;
  return {place.sample + place.block / blocks_per_sample, place.block % blocks_per_sample};
}

// The places of the blocks of a batch.
struct Counters {
  std::uint32_t block[batch], sample[batch];
};

inline void count_from(Counters& counters, Place place, std::int64_t blocks_per_sample, std::uint32_t first_sample) {
  const auto block = static_cast<std::uint32_t>(place.block);
  const std::uint32_t sample = first_sample + static_cast<std::uint32_t>(place.sample);
  for (int i = 0; i < batch; ++i) {
    counters.block[i] = block + static_cast<std::uint32_t>(i);
    counters.sample[i] = sample;
  }
  for (std::int64_t i = blocks_per_sample - place.block; i < batch; ++i) {
    const Place next = behind(place, i, blocks_per_sample);
    counters.block[i] = static_cast<std::uint32_t>(next.block);
    counters.sample[i] = first_sample + static_cast<std::uint32_t>(next.sample);
  }
}

// philox::generate on the counters of a batch: result[4 i + k] is word k of block i. The rounds are unrolled by
// recursion, because a loop over them would not vectorise.
inline void draw(std::uint32_t* result, const Counters& counters, const RandomSequence& sequence) {
  const auto key_low = static_cast<std::uint32_t>(sequence.seed);
  const auto key_high = static_cast<std::uint32_t>(sequence.seed >> 32);
  const std::uint32_t update = sequence.update, stream = sequence.stream;
  PANDO_VECTORISE
  for (int i = 0; i < batch; ++i) {
    std::uint32_t a = counters.block[i], b = counters.sample[i], c = update, d = stream;
    philox_rounds<10>(a, b, c, d, key_low, key_high);
    result[4 * i] = a;
    result[4 * i + 1] = b;
    result[4 * i + 2] = c;
    result[4 * i + 3] = d;
  }
}

// Calls make(values, words) for each batch of blocks and use(element, values, n) for the runs of elements they belong
// to: a sample whose size is not a multiple of 4 leaves the last words of its last block unused.
template <class T, class Make, class Use>
inline void for_batches(const RandomSequence& sequence, std::int64_t first, std::int64_t last, Make make, Use use) {
  // Samples may be empty.
  if (first == last) return;
  const std::int64_t size = sequence.elements_per_sample, blocks_per_sample = sequence.blocks_per_sample();
  const bool whole = size % 4 == 0;
  Place place = {first / blocks_per_sample, first % blocks_per_sample};
  Counters counters;
  std::uint32_t drawn[words];
  T values[words];
  for (std::int64_t begin = first; begin < last; begin += batch) {
    const std::int64_t count = last - begin < batch ? last - begin : batch;
    count_from(counters, place, blocks_per_sample, sequence.first_sample);
    draw(drawn, counters, sequence);
    make(values, drawn);
    if (whole) {
      use(4 * begin, values, 4 * count);
      place = behind(place, count, blocks_per_sample);
      continue;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t element = 4 * place.block, rest = size - element;
      use(place.sample * size + element, values + 4 * i, rest < 4 ? rest : 4);
      place = behind(place, 1, blocks_per_sample);
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

// Box-Muller: two words make two normal numbers.
template <class T>
void normal(T* out, const RandomSequence& sequence, std::int64_t first, std::int64_t last, double mean,
            double deviation) {
  const T offset = T(mean), scale = T(deviation);
  const auto make = [=](T* values, const std::uint32_t* drawn) {
    for (int i = 0; i < words / 2; ++i)
      scalar::normal_pair(drawn[2 * i], drawn[2 * i + 1], offset, scale, values + 2 * i);
  };
  for_batches<T>(sequence, first, last, make, copier(out));
}

}  // namespace

void fill(RandomRoutines& table) {
  table.float32 = {dropout<float>, uniform<float>, normal<float>};
  table.float64 = {dropout<double>, uniform<double>, normal<double>};
}

}  // namespace pando::cpu::inline PANDO_INSTRUCTION_SET
