// SPDX-License-Identifier: Apache-2.0
// IPUStrategy: models made in its scope run on the IPUs of a device. A strategy knows its device by name and looks it
// up whenever its scope is entered, so one strategy serves every configuration that has such a device.
#pragma once
#include <pando/base/export.h>

#include <memory>
#include <string>

namespace pando {
struct Target;
class Workers;
}

namespace pando::ipu {

// Where models run: on the IPUs of one device.
class PANDO_API IPUStrategy {
 public:
  // Throws Error if no IPU system is configured or it has no such device.
  explicit IPUStrategy(const std::string& device = "/device:IPU:0");

  // Lasts until it is destroyed; scopes nest. It belongs to the thread that made it.
  class PANDO_API Scope {
   public:
    explicit Scope(std::shared_ptr<const Target> target);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    std::shared_ptr<const Target> target_;
  };
  // Models made in it run on the IPUs that the device has now. Throws Error if the device is no longer configured.
  [[nodiscard]] Scope scope() const;

  // "/device:IPU:0".
  const std::string& device() const { return device_; }
  // The IPUs that the device has now. Throws Error if the device is no longer configured.
  int num_ipus() const;

 protected:
  IPUStrategy(const std::string& device, std::shared_ptr<Workers> workers);

 private:
  std::string device_;
  std::shared_ptr<Workers> workers_;
};

// The IPUs of all processes that `mpirun` or `srun` started together, as one system: models made in its scope have
// replicas in all of them. Every process runs the same program with the same data, and computes its share of each
// batch; results, losses and metrics are those of all, to the bit those of one process with as many replicas. The first
// process shows progress and writes checkpoints and logs.
class PANDO_API IPUMultiWorkerStrategy : public IPUStrategy {
 public:
  // Throws Error as IPUStrategy does, and if this process was started alone or MPI cannot be used.
  explicit IPUMultiWorkerStrategy(const std::string& device = "/device:IPU:0");

  // This process, from 0, and how many there are.
  int worker_rank() const;
  int num_workers() const;

 private:
  IPUMultiWorkerStrategy(const std::string& device, const std::shared_ptr<Workers>& workers);
  std::shared_ptr<Workers> workers_;
};

// The name that newer releases have for it.
using PopDistStrategy = IPUMultiWorkerStrategy;

}  // namespace pando::ipu
