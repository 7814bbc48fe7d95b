// SPDX-License-Identifier: Apache-2.0
#include <pando/frontends/ipu/config.h>
#include <pando/program/program.h>

#include <fmt/format.h>

#include "base/machine/cores.h"
#include "base/machine/usable_memory.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/machine.h"
#include "cli/output.h"
#include "cli/virtual_ipus.h"

namespace pando::cli {

int devices(const Arguments& arguments) {
  ipu::IPUConfig config;
  config.auto_select_ipus = static_cast<int>(arguments.whole("ipus"));
  config.tiles_per_ipu = static_cast<int>(arguments.whole("tiles"));
  config.backend = backend_of(arguments);
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
  Table gpu_table({"GPU", "memory", "multiprocessors", "instruction set"});
  Json gpu_list = Json::List();
  for (const GpuInfo& gpu : gpus()) {
    gpu_table.add(
        {gpu.name, bytes_text(gpu.memory_bytes), fmt::format("{}", gpu.multiprocessors), gpu.instruction_set});
    Json one;
    one.set("name", gpu.name);
    one.set("memory_bytes", static_cast<std::int64_t>(gpu.memory_bytes));
    one.set("multiprocessors", gpu.multiprocessors);
    one.set("instruction_set", gpu.instruction_set);
    gpu_list.append(one);
  }
  const std::vector<std::string> sets = available_instruction_sets();
  if (arguments.flag("json")) {
    Json json;
    json.set("processor", processor_name());
    json.set("cores", all_cores());
    json.set("usable_cores", usable_cores());
    json.set("usable_memory_bytes", static_cast<std::int64_t>(usable_memory()));
    json.set("multiplies_bfloat16", multiplies_bfloat16());
    json.set("devices", list);
    json.set("gpus", gpu_list);
    json.set("instruction_sets", json_list(sets));
    print_json(json);
    return 0;
  }
  print(table.text() + fmt::format("\n{}: {} of {} cores may be used, {} of memory; {}{}.\n", processor_name(),
                                   usable_cores(), all_cores(), bytes_text(usable_memory()), join(sets, ", "),
                                   multiplies_bfloat16() ? ", bfloat16" : ""));
  if (!gpus().empty()) print("\n" + gpu_table.text() + "\n--backend cuda uses them.\n");
  return 0;
}

}  // namespace pando::cli
