#include <pando/frontends/ipu/config.h>
#include <pando/program/program.h>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/output.h"

namespace pando::cli {

int devices(const Arguments& arguments) {
  ipu::IPUConfig config;
  config.auto_select_ipus = static_cast<int>(arguments.whole("ipus"));
  config.tiles_per_ipu = static_cast<int>(arguments.whole("tiles"));
  config.configure_ipu_system();
  Table table({"device", "IPUs", "tiles of each", "backend", "instruction set"});
  Json list;
  for (const DeviceInfo& device : pando::devices()) {
    table.add({device.name, device.ipus == 0 ? "-" : fmt::format("{}", device.ipus),
               fmt::format("{}", device.tiles_per_ipu), device.backend, device.instruction_set});
    Json one;
    one.set("name", device.name);
    one.set("ipus", device.ipus);
    one.set("tiles_per_ipu", device.tiles_per_ipu);
    one.set("backend", device.backend);
    one.set("instruction_set", device.instruction_set);
    list.append(one);
  }
  const std::vector<std::string> sets = available_instruction_sets();
  if (arguments.flag("json")) {
    Json json, names;
    for (const std::string& name : sets) names.append(name);
    json.set("devices", list);
    json.set("instruction_sets", names);
    print_json(json);
    return 0;
  }
  print(table.text() + fmt::format("\nThis machine has: {}.\n", join(sets, ", ")));
  return 0;
}

}  // namespace pando::cli
