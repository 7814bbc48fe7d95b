// SPDX-License-Identifier: Apache-2.0
// The backends by name: only this folder knows which there are.
#pragma once
#include <pando/base/function.h>
#include <pando/program/program.h>

#include <memory>

#include "comm/collective_workers.h"
#include "comm/start.h"
#include "runtime/backend.h"

namespace pando {

using MakeBackend = Function<std::unique_ptr<Backend>(const DeviceOptions& options)>;

// Adds a backend, or replaces that of this name. Call it before the first Device is made.
void register_backend(const std::string& name, MakeBackend make);
// One device of the backend that the options, or the environment, name. Throws Error with the nearest name if there is
// no such backend.
std::unique_ptr<Backend> make_backend(const DeviceOptions& options);

// Connects the processes that were started together by way of their GPUs. Throws Error with the remedy.
std::unique_ptr<Collective> connect_by_nccl(const Start& start);

}  // namespace pando
