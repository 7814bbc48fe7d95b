// SPDX-License-Identifier: Apache-2.0
// The texts of headers that kernels made at run time include; cmake/embed.cmake writes the file with them.
#pragma once
#include <string_view>

namespace pando::assets {

extern const std::string_view casts_h, cluster_h, gpu_h, host_device_h, images_h, kernel_h, philox_h, pooled_images_h,
    rows_h, scalar_h, scalar_math_h, special_math_h, update_rules_h, updates_h;

}  // namespace pando::assets
