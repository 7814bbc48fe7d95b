// SPDX-License-Identifier: Apache-2.0
// Full batches: for a step that mixes the samples of a batch, and that is divided so that a shorter batch cannot run by
// itself.
#pragma once
#include "model/batches.h"

namespace pando::keras {

// Throws Error: `who` was given a batch of `count` samples instead of `size`, which would have to be filled up, but its
// result `mixture` would depend on the copies.
[[noreturn]] void refuse_short_batch(const std::string& who, std::int64_t count, std::int64_t size,
                                     const std::string& mixture);

// The batches of the source, which refuse the first that is not full.
std::shared_ptr<BatchSource> full_batches(std::shared_ptr<BatchSource> source, const std::string& who,
                                          const std::string& mixture);

}  // namespace pando::keras
