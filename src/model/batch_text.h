// SPDX-License-Identifier: Apache-2.0
// Messages about shapes whose batch size was only a trial value.
#pragma once
#include <cstdint>
#include <string>

namespace pando {

// Takes two texts of one message, from trials with different batch sizes; what differs between them is the batch.
// Writes "(None, 4)" for [3, 4] in one and [5, 4] in the other, and "None * 4" for 12 and 20. If they differ in another
// way, returns the first as it is.
std::string without_batch_sizes(const std::string& first, std::int64_t first_batch, const std::string& second,
                                std::int64_t second_batch);

}  // namespace pando
