// SPDX-License-Identifier: Apache-2.0
// IPUConfig: which virtual IPUs a program uses.
#pragma once
#include <pando/base/export.h>

#include <cstdint>
#include <string>
#include <vector>

namespace pando {

// A device that models can be placed on.
struct DeviceInfo {
  // "/device:CPU:0" is the host with all its cores; "/device:IPU:0" and the following exist once an IPU system is
  // configured.
  std::string name;
  int ipus = 0;
  int tiles_per_ipu = 0;
  std::string backend = {};
  std::string instruction_set = {};
};
// The host and the devices of the system that is configured.
PANDO_API std::vector<DeviceInfo> devices();

namespace ipu {

// One number, or a number for each of several devices: 2, or {1, 4}.
class Counts : public std::vector<int> {
 public:
  Counts() = default;
  Counts(int only) : std::vector<int>{only} {}
  Counts(std::initializer_list<int> list) : std::vector<int>(list) {}
  Counts(const std::vector<int>& list) : std::vector<int>(list) {}
};

// What happens where a computation gives a NaN or an infinity. There is neither esr nor nanoo: values round to nearest,
// and an overflow is always infinite.
struct FloatingPointBehaviour {
  // End the run with an Error that names the layer when a value becomes a NaN (inv) or infinite (div0, oflo). All three
  // are one check here, which looks for NaN and infinity in all values on all IPUs. It is slow.
  bool inv = false, div0 = false, oflo = false;
  // All three.
  bool set_all = false;

  bool checks() const { return inv || div0 || oflo || set_all; }
};

// Nothing takes effect before configure_ipu_system().
struct PANDO_API IPUConfig {
  // The number of IPUs of /device:IPU:0, or a list of the numbers of /device:IPU:0, /device:IPU:1, ...
  Counts auto_select_ipus = {};
  // Used instead of auto_select_ipus: the numbers of the IPUs to use, each as its own device.
  Counts select_ipus = {};
  // Worker threads of each IPU; 0 divides the cores among the IPUs.
  int tiles_per_ipu = 0;
  // "cpu", "cuda" (an NVIDIA GPU), or "auto" (a GPU if there is one); empty takes what the environment variable
  // PANDO_BACKEND says, or "cpu".
  std::string backend = {};
  // "portable", "neon", "avx2", "avx512"; empty takes the best that this machine has.
  std::string instruction_set = {};
  FloatingPointBehaviour floating_point_behaviour = {};

  // Sets an option by name, from text: set("auto_select_ipus", "[1, 4]"), set("floating_point_behaviour.inv",
  // "true"). Throws Error with the nearest name if the option is unknown, or with the type that it takes if the value
  // is wrong.
  void set(const std::string& option, const std::string& value);
  // Makes the devices. Throws Error, and changes nothing, if an option is wrong. A system that is configured already is
  // replaced, with a warning; models keep the devices that they were made for.
  void configure_ipu_system() const;
};

// Undoes configure_ipu_system().
PANDO_API void reset_ipu_configuration();

}  // namespace ipu
}  // namespace pando
