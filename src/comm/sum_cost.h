// SPDX-License-Identifier: Apache-2.0
// The cost of sums over workers, as a formula of the messages that worker_sums sends. So the time for any number of
// workers follows from the cost of one message.
#pragma once
#include <cstddef>

namespace pando {

// What messages between workers cost. Times are in seconds, speeds in bytes a second.
struct NetworkCost {
  // From the start of a message to its arrival, and what each further message at the same time adds.
  double latency = 0, per_message = 0;
  // What a worker sends while it receives as much.
  double bandwidth = 0;
  // What a worker copies or adds within its own memory.
  double copies = 0;
};

// One round in which every worker sends that many bytes to each other worker.
double round_seconds(const NetworkCost& network, int workers, double bytes);

// The sums of `bytes` for each of `replicas` of every worker, from the numbers of the replicas to the sums in their
// place.
double sum_seconds(const NetworkCost& network, int workers, int replicas, std::size_t bytes);

// The same for sums on devices that are connected with those of the other workers (device_sums): the times are those of
// messages between devices, of which all of a round travel at the same time, and of copies on a device.
double device_sum_seconds(const NetworkCost& network, int workers, int replicas, std::size_t bytes);

// The same in buckets of at most `bucket` bytes. They become ready one after the other during the last `backward`
// seconds of the backward pass, and are added up in that order while it goes on.
struct SumTimes {
  // The time of all buckets, and the part of it after the backward pass.
  double all = 0, after = 0;
};
SumTimes bucket_seconds(const NetworkCost& network, int workers, int replicas, std::size_t bytes, std::size_t bucket,
                        double backward);

}  // namespace pando
