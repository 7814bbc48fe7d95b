// SPDX-License-Identifier: Apache-2.0
// `pando bench network`: what messages between workers cost. Two workers send to each other as they do when gradients
// are added up; then all do at once, which shows what they share. The slowest pair counts, because everyone waits for
// it.
#include <pando/comm/workers.h>
#include <pando/program/program.h>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <set>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/virtual_ipus.h"
#include "report/explain/measurements.h"

namespace pando::cli {

namespace {

constexpr int network_channel = 1;
constexpr std::size_t sizes[] = {1, 64, 1024, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20};
// The size whose time says the bandwidth: gradients are added up in shares of about this size.
constexpr std::size_t size_for_bandwidth = 1 << 20;

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + std::ssize(values) / 2, values.end());
  return values[values.size() / 2];
}

// Messages among the workers, in memory that is there before the clock runs.
class Traffic {
 public:
  explicit Traffic(Workers& workers)
      : workers_(workers),
        sent_(std::end(sizes)[-1], std::byte{1}),
        received_(static_cast<std::size_t>(workers.count()), std::vector<std::byte>(sent_.size())) {}

  // The seconds of one exchange of this worker with others, as the median over some; all of them must call it.
  double exchange(const std::vector<int>& others, std::size_t size, int messages = 1) {
    std::vector<Workers::Sent> sent;
    std::vector<Workers::Received> received;
    const auto each = static_cast<std::size_t>(messages);
    for (const int other : others)
      for (std::size_t i = 0; i < each; ++i) {
        sent.push_back({other, std::span<const std::byte>(sent_).subspan(i * size, size)});
        received.push_back({other, std::span(received_[static_cast<std::size_t>(other)]).subspan(i * size, size)});
      }
    std::vector<double> times;
    // The first ones open connections, and find memory for the messages.
    for (int i = -2; i < repeats(size); ++i) {
      const auto begin = std::chrono::steady_clock::now();
      workers_.exchange(network_channel, sent, received);
      if (i >= 0) times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    return median(std::move(times));
  }
  // The largest value that any worker has.
  double largest(double own) {
    for (const double other : gathered(own)) own = std::max(own, other);
    return own;
  }
  int hosts() {
    struct Name {
      char text[65];
    } name{};
    gethostname(name.text, sizeof name.text - 1);
    std::set<std::string> names;
    for (const Name& other : gathered(name)) names.insert(other.text);
    return static_cast<int>(names.size());
  }
  // Bytes a second that this worker copies while the others do, too. Each time it copies other memory: gradients are
  // not in the core's own cache either, where a backward pass has just written more than fits.
  double copies() {
    std::vector<double> times;
    for (std::size_t i = 0; i < 2 * sent_.size() / size_for_bandwidth; ++i) {
      const auto place = static_cast<std::ptrdiff_t>(i * size_for_bandwidth % sent_.size());
      const auto begin = std::chrono::steady_clock::now();
      std::copy_n(sent_.begin() + place, size_for_bandwidth, received_.front().begin() + place);
      times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    return static_cast<double>(size_for_bandwidth) / median(std::move(times));
  }

 private:
  static int repeats(std::size_t size) { return static_cast<int>(std::clamp<std::size_t>((64 << 20) / size, 5, 300)); }

  template <class Value>
  std::vector<Value> gathered(const Value& own) {
    std::vector<Value> all(static_cast<std::size_t>(workers_.count()), own);
    std::vector<Workers::Sent> sent;
    std::vector<Workers::Received> received;
    for (int other = 0; other < workers_.count(); ++other) {
      if (other == workers_.rank()) continue;
      sent.push_back({other, std::as_bytes(std::span(&own, 1))});
      received.push_back({other, std::as_writable_bytes(std::span(&all[static_cast<std::size_t>(other)], 1))});
    }
    workers_.exchange(network_channel, sent, received);
    return all;
  }

  Workers& workers_;
  std::vector<std::byte> sent_;
  std::vector<std::vector<std::byte>> received_;
};

struct SizeTimes {
  std::size_t bytes = 0;
  // Seconds of the slowest pair, and of an exchange of all with all.
  double pair = 0, all = 0;
};

// Worker 0 with each other one in turn: a ring of pairs would hide a slow link in the waiting of the others.
double slowest_pair(Workers& workers, Traffic& traffic, std::size_t size, int messages = 1) {
  double slowest = 0;
  for (int other = 1; other < workers.count(); ++other) {
    double own = 0;
    if (workers.rank() == 0) own = traffic.exchange({other}, size, messages);
    else if (workers.rank() == other) own = traffic.exchange({0}, size, messages);
    else traffic.exchange({}, size, messages);
    slowest = std::max(slowest, own);
    traffic.largest(0);
  }
  return traffic.largest(slowest);
}

std::string size_text(std::size_t bytes) {
  if (bytes >= 1 << 20) return fmt::format("{} MiB", bytes >> 20);
  return bytes >= 1024 ? fmt::format("{} KiB", bytes >> 10) : fmt::format("{} B", bytes);
}

Json json_of(const std::vector<SizeTimes>& times, const MeasuredNetwork& network, const std::string& path) {
  Json json, list = Json::List();
  for (const SizeTimes& one : times) {
    Json row;
    row.set("bytes", static_cast<std::int64_t>(one.bytes));
    row.set("pair_microseconds", one.pair * 1e6);
    row.set("all_microseconds", one.all * 1e6);
    list.append(row);
  }
  json.set("workers", network.workers);
  json.set("hosts", network.hosts);
  json.set("latency_microseconds", network.latency * 1e6);
  json.set("microseconds_per_further_message", network.per_message * 1e6);
  json.set("gigabytes_per_second", network.bandwidth / 1e9);
  json.set("gigabytes_copied_per_second", network.copies / 1e9);
  json.set("sizes", list);
  json.set("kept_in", path);
  return json;
}

std::string text_of(const std::vector<SizeTimes>& times, const MeasuredNetwork& network, const std::string& path) {
  Table table({"message", "us, a pair", "GB/s", "us, all at once", "GB/s a worker"});
  for (const SizeTimes& one : times) {
    const auto bytes = static_cast<double>(one.bytes);
    table.add({size_text(one.bytes), fmt::format("{:.1f}", one.pair * 1e6),
               fmt::format("{:.2f}", bytes / one.pair / 1e9), fmt::format("{:.1f}", one.all * 1e6),
               fmt::format("{:.2f}", bytes * (network.workers - 1) / one.all / 1e9)});
  }
  return table.text() + fmt::format(
                            "\n{} workers on {} host{}. Each sends and receives at the same time. A message takes "
                            "{:.1f} us, each further\none {:.1f} us, and {:.2f} GB/s each way; a copy in memory "
                            "{:.2f} GB/s. Kept for 'pando explain' in\n{}\n",
                            network.workers, network.hosts, network.hosts == 1 ? "" : "s", network.latency * 1e6,
                            network.per_message * 1e6, network.bandwidth / 1e9, network.copies / 1e9, path);
}

MeasuredNetwork summary_of(Workers& workers, Traffic& traffic, const std::vector<SizeTimes>& times) {
  constexpr int many = 16;
  const auto found =
      std::find_if(times.begin(), times.end(), [](const auto& one) { return one.bytes == size_for_bandwidth; });
  const double latency = times.front().pair;
  const double others = workers.count() - 1;
  return {
      .workers = workers.count(),
      .hosts = traffic.hosts(),
      .latency = latency,
      .per_message = std::max(0.0, (slowest_pair(workers, traffic, 1, many) - latency) / (many - 1)),
      .bandwidth = others * static_cast<double>(size_for_bandwidth) / std::max(found->all - latency, found->all / 10),
      .copies = 1 / traffic.largest(1 / traffic.copies()),
      .date = measurement_date()};
}

// Between the GPUs of the workers, which NCCL connects.
int bench_gpu_network(const Arguments& arguments) {
  if (const std::string problem = why_no_nccl(); !problem.empty()) throw Error(problem);
  const std::shared_ptr<Workers> workers = mpi_workers();
  Traffic traffic(*workers);
  const int hosts = traffic.hosts();
  const GpuSumCost cost = measure_gpu_sums(workers);
  if (workers->rank() > 0) return 0;
  const bool is_alone = workers->count() == 1;
  std::string path;
  if (!is_alone) {
    Measurements measurements = read_measurements();
    measurements.gpu_network = MeasuredNetwork{.workers = workers->count(),
                                               .hosts = hosts,
                                               .latency = cost.latency,
                                               .bandwidth = cost.bandwidth,
                                               .copies = cost.copies,
                                               .date = measurement_date()};
    path = write_measurements(measurements);
  }
  if (arguments.flag("json")) {
    Json json;
    json.set("workers", workers->count());
    json.set("hosts", hosts);
    json.set("nccl", nccl_version());
    json.set("latency_microseconds", cost.latency * 1e6);
    json.set("gigabytes_per_second", cost.bandwidth / 1e9);
    json.set("gigabytes_copied_per_second", cost.copies / 1e9);
    json.set("large_sum_microseconds", cost.large_sum * 1e6);
    json.set("kept_in", path);
    print_json(json);
    return 0;
  }
  const std::string about = fmt::format(
      "NCCL {}, {} worker{} on {} host{}. A sum of 64 MiB on each GPU takes {:.2f} ms; a GPU copies {:.1f} GB/s.\n",
      nccl_version(), workers->count(), is_alone ? "" : "s", hosts, hosts == 1 ? "" : "s", cost.large_sum * 1e3,
      cost.copies / 1e9);
  print(about + (is_alone ? std::string("There is one GPU, so nothing was sent: for a prediction of several, measure "
                                        "where there are two or more, or give\n'pando explain' --latency and "
                                        "--bandwidth. Nothing was kept.\n")
                          : fmt::format("A sum of one number takes {:.1f} us, and a GPU sends {:.2f} GB/s while it "
                                        "receives as much. Kept for 'pando explain' in\n{}\n",
                                        cost.latency * 1e6, cost.bandwidth / 1e9, path)));
  return 0;
}

}  // namespace

int bench_network(const Arguments& arguments) {
  if (backend_of(arguments) == "cuda") return bench_gpu_network(arguments);
  if (started_workers() == 1)
    throw Error(
        "bench network measures messages between workers, but this process was started alone; start it with mpirun -n "
        "2 "
        "pando bench network, with srun, or with pando launch -n 2 -- pando bench network");
  const std::shared_ptr<Workers> workers = mpi_workers();
  Traffic traffic(*workers);
  std::vector<int> others;
  for (int other = 0; other < workers->count(); ++other)
    if (other != workers->rank()) others.push_back(other);
  std::vector<SizeTimes> times;
  for (const std::size_t size : sizes) {
    const double pair = slowest_pair(*workers, traffic, size);
    times.push_back({size, pair, traffic.largest(traffic.exchange(others, size))});
  }
  const MeasuredNetwork network = summary_of(*workers, traffic, times);
  if (workers->rank() > 0) return 0;
  Measurements measurements = read_measurements();
  measurements.network = network;
  const std::string path = write_measurements(measurements);
  if (arguments.flag("json")) print_json(json_of(times, network, path));
  else print(text_of(times, network, path));
  return 0;
}

}  // namespace pando::cli
