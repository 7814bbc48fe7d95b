// SPDX-License-Identifier: Apache-2.0
// The module that connects the library with an MPI: each function is one call of MPI, with its error as text.
#include "comm/mpi_module.h"

// Only the C interface is used; the C++ one is gone from newer releases.
#define OMPI_SKIP_MPICXX
#define MPICH_SKIP_MPICXX
#include <mpi.h>

#include <cstdio>
#include <new>

namespace {

int failed(int code, const char* what, PandoMpiMessage* message) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (code == MPI_SUCCESS) return 0;
  MPI_Error_string(code, text, &length);
  std::snprintf(message->text, sizeof message->text, "%s failed: %.400s", what, text);
  return 1;
}

int start(int* rank, int* count, PandoMpiMessage* message) {
  int is_started = 0, provided = 0;
  MPI_Initialized(&is_started);
  if (is_started == 0) {
    if (failed(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread", message))
      return 1;
  } else {
    MPI_Query_thread(&provided);
  }
  if (provided < MPI_THREAD_SERIALIZED) {
    std::snprintf(message->text, sizeof message->text,
                  "this MPI lets only its first thread communicate, and Pando needs MPI_THREAD_SERIALIZED");
    return 1;
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  return failed(MPI_Comm_rank(MPI_COMM_WORLD, rank), "MPI_Comm_rank", message) ||
         failed(MPI_Comm_size(MPI_COMM_WORLD, count), "MPI_Comm_size", message);
}

MPI_Request* new_request(void** request, PandoMpiMessage* message) {
  auto* made = new (std::nothrow) MPI_Request;
  *request = made;
  if (made == nullptr) std::snprintf(message->text, sizeof message->text, "there is not enough memory for a message");
  return made;
}

int begin_send(const void* bytes, std::size_t size, int to, int tag, void** request, PandoMpiMessage* message) {
  MPI_Request* made = new_request(request, message);
  return made == nullptr || failed(MPI_Isend(bytes, static_cast<int>(size), MPI_BYTE, to, tag, MPI_COMM_WORLD, made),
                                   "MPI_Isend", message);
}

int begin_receive(void* bytes, std::size_t size, int from, int tag, void** request, PandoMpiMessage* message) {
  MPI_Request* made = new_request(request, message);
  return made == nullptr || failed(MPI_Irecv(bytes, static_cast<int>(size), MPI_BYTE, from, tag, MPI_COMM_WORLD, made),
                                   "MPI_Irecv", message);
}

int test_request(void** request, int* done, PandoMpiMessage* message) {
  auto* made = static_cast<MPI_Request*>(*request);
  if (failed(MPI_Test(made, done, MPI_STATUS_IGNORE), "MPI_Test", message)) return 1;
  if (*done == 0) return 0;
  delete made;
  *request = nullptr;
  return 0;
}

void forget(void** request) {
  auto* made = static_cast<MPI_Request*>(*request);
  // One that was tested to its end.
  if (made == nullptr) return;
  if (*made != MPI_REQUEST_NULL) {
    MPI_Cancel(made);
    MPI_Request_free(made);
  }
  delete made;
  *request = nullptr;
}

int has_arrived(int tag, int* from, std::size_t* size, int* arrived, PandoMpiMessage* message) {
  MPI_Status status;
  int bytes = 0;
  if (failed(MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, arrived, &status), "MPI_Iprobe", message)) return 1;
  if (*arrived == 0) return 0;
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  *from = status.MPI_SOURCE;
  *size = static_cast<std::size_t>(bytes);
  return 0;
}

void finish() {
  int is_finished = 0;
  MPI_Finalized(&is_finished);
  if (is_finished == 0) MPI_Finalize();
}

void end_all() { MPI_Abort(MPI_COMM_WORLD, 1); }

}  // namespace

extern "C" const PandoMpi* pando_mpi() {
  static const PandoMpi table = {.version = pando_mpi_version,
                                 .start = start,
                                 .send = begin_send,
                                 .receive = begin_receive,
                                 .test = test_request,
                                 .forget = forget,
                                 .has_arrived = has_arrived,
                                 .finish = finish,
                                 .abort = end_all};
  return &table;
}
