// SPDX-License-Identifier: Apache-2.0
// Marks what a Pando library exports; everything else stays hidden.
#pragma once

#if defined(__GNUC__)
#define PANDO_API __attribute__((visibility("default")))
#else
#define PANDO_API
#endif
