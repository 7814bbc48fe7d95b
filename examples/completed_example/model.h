// SPDX-License-Identifier: Apache-2.0
// The network, whole or in two stages.
#pragma once
#include <pando/pando.h>

constexpr int pipeline_stages = 2;

// With `pipelining` the layers say which stage they belong to; it must then be made in the scope of an IPUStrategy.
pando::keras::Model make_model(bool pipelining);
