// SPDX-License-Identifier: Apache-2.0
// The tags of messages between workers that MPI connects.
#pragma once

namespace pando {

// Tags of the messages that a worker has failed, and that it is alive or has ended its program. Channels are tags above
// these.
inline constexpr int failure_tag = 0, pulse_tag = 1, first_channel_tag = 2;
// For the names of processes.
inline constexpr int process_channel = (1 << 12) + 100;
// What a pulse says.
inline constexpr char alive = 0, over = 1;

}  // namespace pando
