// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "comm/mpi_module.h"

namespace pando {

// Opens the module that connects the library with MPI. Throws Error with the remedy if there is none.
const PandoMpi& open_mpi_module();

}  // namespace pando
