// SPDX-License-Identifier: Apache-2.0
// IPUStrategy: models made in its scope run on the IPUs of a device. A strategy knows its device by name and looks it
// up whenever its scope is entered, so one strategy serves every configuration that has such a device.
#pragma once
#include <pando/base/export.h>

#include <memory>
#include <string>

namespace pando {
struct Target;
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

 private:
  std::string device_;
};

}  // namespace pando::ipu
