// SPDX-License-Identifier: Apache-2.0
// Products of bfloat16 by AMX: compiled and reached only where the machine and its kernel let a process use tiles.
#include "backends/cpu/routines/mixed_pairs.h"
#include "backends/cpu/routines/mixed_tiles.h"

namespace pando::cpu {
namespace {

// The intrinsic functions of GCC 12 do not say which memory they read, so it could be written too late.
struct AmxTiles {
  static void begin() {
    struct Configuration {
      std::uint8_t palette = 1;
      std::uint8_t unused[15] = {};
      std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
    };
    alignas(64) static constexpr Configuration configuration;
    static_assert(sizeof configuration == 64);
    asm volatile("ldtilecfg %0" : : "m"(configuration));
  }
  // A thread without tiles is switched faster.
  static void end() { asm volatile("tilerelease"); }

  template <int tile>
  static inline __attribute__((always_inline)) void zero() {
    asm volatile("tilezero %%tmm%c0" : : "i"(tile));
  }
  template <int tile>
  static inline __attribute__((always_inline)) void load(const void* from, std::int64_t stride) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride), "i"(tile) : "memory");
  }
  template <int tile>
  static inline __attribute__((always_inline)) void load_once(const void* from, std::int64_t stride) {
    asm volatile("tileloaddt1 (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride), "i"(tile) : "memory");
  }
  template <int tile>
  static inline __attribute__((always_inline)) void store(void* to, std::int64_t stride) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(stride), "i"(tile) : "memory");
  }
  template <int sum, int a, int b>
  static inline __attribute__((always_inline)) void multiply() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(sum), "i"(a), "i"(b));
  }
};

using AmxProduct = TileProduct<AmxTiles>;

}  // namespace

PANDO_KERNEL_BEGIN

// The costs were fitted to the times of products and convolutions on a Xeon 6, before rows of a were read where they
// are. With the gains the dense gradients of vgg_small and keras_cnn are chosen, which take about half as long as those
// that visit only what is not zero, but not those of poptorch_cnn, whose batches have 8 images.
extern const MixedMatmulRoutines mixed_routines = {
    .costs = {.product = 0.125, .rounded = 8, .packed = 16, .transposed = 130, .row = 1100, .result = 20},
    .gradient_gain = 3.3,
    .group_gain = 8,
    .image_group = tile_depth,
    .least_depth = 64,
    .block_rows = AmxProduct::block_rows,
    .panel_vectors = AmxProduct::panel_vectors,
    .lanes = tile_columns,
    .depth_step = AmxProduct::depth_step,
    .best_depth_step = tile_depth,
    .prefers_equal_distances = true,
    .multiply = AmxProduct::multiply,
    .pack = pack_pairs,
    .pack_transposed = pack_pairs_transposed,
    .round = round_row,
    .round_transposed = round_rows_transposed};

PANDO_KERNEL_END
}  // namespace pando::cpu
