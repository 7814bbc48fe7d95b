// SPDX-License-Identifier: Apache-2.0
// What the library uses of MPI, as a table of functions that a module provides. The library opens the module only where
// workers are asked for. So it loads without MPI, and works with any MPI. Functions that return an int return 0, or 1
// after writing a message. One thread at a time may call them.
#pragma once
#include <cstddef>

inline constexpr int pando_mpi_version = 1;

struct PandoMpiMessage {
  char text[512];
};

struct PandoMpi {
  int version;
  // Starts MPI.
  int (*start)(int* rank, int* count, PandoMpiMessage* message);
  // Begins to send, or to receive, these bytes, fewer than 2^31.
  int (*send)(const void* bytes, std::size_t size, int to, int tag, void** request, PandoMpiMessage* message);
  int (*receive)(void* bytes, std::size_t size, int from, int tag, void** request, PandoMpiMessage* message);
  // Sets `done` when the request is complete, and then forgets it.
  int (*test)(void** request, int* done, PandoMpiMessage* message);
  // Forgets a request that will not be completed.
  void (*forget)(void** request);
  // Whether a message with this tag has arrived from any worker, and its size.
  int (*has_arrived)(int tag, int* from, std::size_t* size, int* arrived, PandoMpiMessage* message);
  // Waits for the other workers and ends MPI.
  void (*finish)();
  // Ends all workers at once. Does not return.
  void (*abort)();
};

extern "C" __attribute__((visibility("default"))) const PandoMpi* pando_mpi();
