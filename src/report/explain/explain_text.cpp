// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/terminal/thousands.h"

#include "base/text.h"
#include "report/pictures/drawing.h"
#include "report/explain/explain.h"

namespace pando {

namespace {

constexpr std::size_t columns = 79;
constexpr std::size_t label_columns = 13;
// The most stages side by side in the table of memory; with more, they are listed one below the other.
constexpr std::size_t most_stages_side_by_side = 4;

// "1 replica", "8 replicas", "2 batches".
std::string counted(std::int64_t count, const std::string& noun) {
  const std::string plural = noun.ends_with("ch") ? "es" : "s";
  return grouped_by_thousands(count) + " " + noun + (count == 1 ? "" : plural);
}

// The head, and next to it the text, which continues under its own beginning.
std::string wrapped(std::string head, std::size_t indent, const std::string& text) {
  head.resize(indent, ' ');
  std::string lines, line = head;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min({text.find(' ', begin), text.size(), begin + columns - indent});
    const bool first = line.size() == indent;
    if (!first && line.size() + 1 + end - begin > columns) {
      lines += line + "\n";
      line = std::string(indent, ' ');
    } else if (!first) {
      line += ' ';
    }
    line += text.substr(begin, end - begin);
    begin = end < text.size() && text[end] == ' ' ? end + 1 : end;
  }
  return lines + line + "\n";
}

std::string labelled(const std::string& label, const std::string& text) { return wrapped(label, label_columns, text); }

// The name in at most `width` columns.
std::string shortened(const std::string& name, std::size_t width) {
  const std::string readable = plot::readable_text(name);
  if (fmt::formatted_size("{}", readable) <= width) return readable;
  return fmt::format("{:.{}}...", readable, width - 3);
}

// "IPU 0 has stages 0 2 4, IPU 1 has stages 1 3".
std::string mapping_text(const Explanation& explanation, const ExplainedCounts& counts) {
  const std::vector<int>& mapping = explanation.device_mapping;
  if (mapping.empty()) return "";
  std::vector<std::string> ipus;
  for (int ipu = 0; ipu < counts.ipus_per_replica; ++ipu) {
    std::vector<std::size_t> stages;
    for (std::size_t stage = 0; stage < mapping.size(); ++stage)
      if (mapping[stage] == ipu) stages.push_back(stage);
    ipus.push_back(fmt::format("IPU {} has stage{} {}", ipu, stages.size() == 1 ? "" : "s", fmt::join(stages, " ")));
  }
  return labelled("Mapping", join(ipus, ", "));
}

std::string devices_text(const Explanation& explanation, const ExplainedCounts& counts) {
  int used_tiles = 0;
  for (const ExplainedStage& stage : explanation.stages) used_tiles = std::max(used_tiles, stage.tiles);
  std::string tiles = counted(explanation.tiles_per_ipu, "tile");
  if (used_tiles > 0 && used_tiles < explanation.tiles_per_ipu) tiles = fmt::format("{} of {}", used_tiles, tiles);
  const std::string cores = explanation.cores == 0 ? "" : ", " + counted(explanation.cores, "core");
  if (explanation.ipus == 0) return labelled("Device", "the host: " + tiles + cores);
  const int used = explanation.ipus - counts.idle_ipus;
  std::string part = counted(std::max<std::int64_t>(1, std::ssize(explanation.stages)), "stage");
  if (counts.stages_share_ipus) part = fmt::format("{} for {}", counted(counts.ipus_per_replica, "IPU"), part);
  std::string text = fmt::format("{} = {} x {}, {}{}{}", counted(used, "IPU"), counted(explanation.replicas, "replica"),
                                 part, tiles, explanation.ipus == 1 ? "" : " each", cores);
  if (counts.idle_ipus > 0) text += fmt::format("; {} idle", counted(counts.idle_ipus, "IPU"));
  return labelled("Devices", text) + mapping_text(explanation, counts);
}

// Shown only if there is something to reduce.
std::string reduction_text(const Explanation& explanation, const ExplainedCounts& counts) {
  if (explanation.reduction.empty() || counts.batches_per_update == 1) return "";
  const std::int64_t factor = counts.learning_rate_factor;
  const auto rate = explanation.learning_rate;
  const std::string name = rate ? fmt::format("the learning rate {:.6g}", *rate) : "the schedule's learning rate";
  std::string text =
      fmt::format("{} of {} gradients: ", explanation.reduction, grouped_by_thousands(counts.batches_per_update));
  if (factor > 1 && rate) text += fmt::format("{} acts as {:.6g}", name, *rate * static_cast<double>(factor));
  else if (factor > 1) text += fmt::format("{} acts as {} times itself", name, grouped_by_thousands(factor));
  else if (explanation.reduction == "sum")
    text += fmt::format("{} divides by their size, so {} stays as it is", explanation.optimizer, name);
  else text += name + " stays as it is";
  return labelled("Reduction", text);
}

std::string update_text(const Explanation& explanation, const ExplainedCounts& counts) {
  std::string text = labelled("Micro-batch", counted(explanation.batch_size, "sample"));
  if (!explanation.training) return text;
  text += labelled("Update", fmt::format("{} = {} x {} accumulated x {} (effective batch)",
                                         counted(counts.effective_batch, "sample"), explanation.batch_size,
                                         explanation.gradient_accumulation, counted(explanation.replicas, "replica")));
  return text + reduction_text(explanation, counts);
}

std::string execution_text(const Explanation& explanation, const ExplainedCounts& counts) {
  const auto part = [&](std::int64_t updates, std::int64_t batches) {
    return explanation.training ? counted(updates, "update") + " = " + counted(batches, "batch")
                                : counted(batches, "batch");
  };
  const std::string each = part(counts.updates_per_execution, counts.updates_per_execution * counts.batches_per_update);
  if (explanation.samples == 0) return counts.updates_per_execution == 1 ? "" : labelled("Execution", each);
  const std::int64_t in_last =
      (counts.updates_in_last_execution - 1) * counts.batches_per_update + counts.batches_in_last_update;
  const std::string last = part(counts.updates_in_last_execution, in_last);
  if (counts.executions == 1) return labelled("Execution", last);
  return labelled("Execution", each == last ? each : each + "; the last one " + last);
}

std::string padding_text(const Explanation& explanation, const ExplainedCounts& counts) {
  std::string text;
  if (counts.samples_in_last_batch < explanation.batch_size) {
    const std::string samples = counted(counts.samples_in_last_batch, "sample");
    text += labelled("Last batch", explanation.fills_batches_up
                                       ? fmt::format("{}, padded to {} with samples that do not count", samples,
                                                     explanation.batch_size)
                                       : samples + ", in a program of its own");
  }
  if (counts.batches_in_last_update < counts.batches_per_update) {
    std::string parts =
        fmt::format("{} of {}", counts.batches_in_last_update, counted(counts.batches_per_update, "batch"));
    if (explanation.replicas > 1)
      parts +=
          fmt::format(": {} a replica", (counts.batches_in_last_update + counts.empty_batches) / explanation.replicas);
    if (counts.empty_batches > 0) parts += fmt::format(", {} of them empty", counts.empty_batches);
    text += labelled(explanation.training ? "Last update" : "Last round", parts);
  }
  return text.empty() ? labelled("Padding", "none") : text;
}

std::string epoch_text(const Explanation& explanation, const ExplainedCounts& counts) {
  if (explanation.samples == 0) return execution_text(explanation, counts);
  std::string text = counted(explanation.samples, "sample") + " = " + counted(counts.batches, "batch");
  if (explanation.training) text += " = " + counted(counts.updates, "update");
  return labelled("Epoch", text + " = " + counted(counts.executions, "execution")) +
         execution_text(explanation, counts) + padding_text(explanation, counts);
}

std::string work_text(const Explanation& explanation, double megaflops) {
  if (explanation.stages.size() < 2 || megaflops <= 0) return "";
  std::string text = megaflops < 10'000 ? fmt::format("\nWork of a micro-batch: {:.1f} MFLOP\n", megaflops)
                                        : fmt::format("\nWork of a micro-batch: {:.1f} GFLOP\n", megaflops / 1000);
  for (std::size_t i = 0; i < explanation.stages.size(); ++i) {
    const ExplainedStage& stage = explanation.stages[i];
    const double share = stage.megaflops / megaflops;
    const std::string bar(static_cast<std::size_t>(24 * share + 0.5), '#');
    text += fmt::format("  stage {:<2} {:5.1f} %  {:<24}  {}\n", i, 100 * share, bar, shortened(stage.layers, 30));
  }
  return text;
}

using Grid = std::vector<std::vector<std::string>>;

// A row for each stage below the row of kinds, without the kinds that no stage has.
Grid memory_grid(const std::vector<ExplainedStage>& stages) {
  static const std::array<std::pair<const char*, std::size_t MemoryUse::*>, 6> kinds = {
      {{"weights", &MemoryUse::weights},
       {"optimizer", &MemoryUse::optimizer},
       {"gradients", &MemoryUse::gradients},
       {"activations", &MemoryUse::activations},
       {"stash", &MemoryUse::stash},
       {"feeds", &MemoryUse::feeds}}};
  Grid grid(stages.size() + 1);
  grid[0].push_back("stage");
  for (std::size_t i = 0; i < stages.size(); ++i) grid[i + 1].push_back(fmt::format("{}", i));
  const auto add_column = [&](const char* name, auto bytes_of) {
    grid[0].push_back(name);
    for (std::size_t i = 0; i < stages.size(); ++i) grid[i + 1].push_back(bytes_text(bytes_of(stages[i])));
  };
  for (const auto& [name, kind] : kinds) {
    const auto bytes_of = [member = kind](const ExplainedStage& stage) { return stage.memory.*member; };
    if (std::any_of(stages.begin(), stages.end(), bytes_of)) add_column(name, bytes_of);
  }
  add_column("total", [](const ExplainedStage& stage) { return stage.memory.total(); });
  return grid;
}

Grid transposed(const Grid& grid) {
  Grid result(grid[0].size());
  for (const auto& row : grid)
    for (std::size_t i = 0; i < row.size(); ++i) result[i].push_back(row[i]);
  return result;
}

std::string grid_text(Grid grid) {
  // All columns fit only if none is wider than its title or "999.9 KiB".
  for (auto& row : grid)
    for (std::string& text : row)
      if (text.size() == 10) text.erase(text.find(' '), 1);
  std::vector<std::size_t> widths(grid[0].size());
  std::size_t sum = 0;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    for (const auto& row : grid) widths[i] = std::max(widths[i], row[i].size());
    sum += widths[i];
  }
  const std::size_t gap = sum + 2 * widths.size() <= columns ? 2 : 1;
  std::string text;
  for (const auto& row : grid) {
    text += fmt::format("  {:<{}}", row[0], widths[0]);
    for (std::size_t i = 1; i < row.size(); ++i) text += fmt::format("{:>{}}", row[i], widths[i] + gap);
    text += "\n";
  }
  return text;
}

std::string memory_text(const Explanation& explanation, const ExplainedCounts& counts) {
  const auto& stages = explanation.stages;
  if (stages.empty()) return "";
  Grid grid = memory_grid(stages);
  if (stages.size() <= most_stages_side_by_side) grid = transposed(grid);
  if (stages.size() == 1) grid.erase(grid.begin());
  const int used = explanation.ipus - counts.idle_ipus;
  std::string text = explanation.ipus == 0 ? "\nMemory of the host\n" : "\nMemory of an IPU\n";
  if (counts.stages_share_ipus)
    text = fmt::format("\nMemory of each stage; all together {}\n", bytes_text(counts.memory));
  else if (used > 1) text = fmt::format("\nMemory of each IPU; all {} together {}\n", used, bytes_text(counts.memory));
  return text + grid_text(grid);
}

std::string legend(bool wide, bool training) {
  if (wide && training) return "  F0 B0: forward and backward pass of micro-batch 0; .: idle\n";
  if (training) return "  0 1 2: forward, a b c: backward passes of micro-batches 0, 1, 2; .: idle\n";
  return fmt::format("  {}: forward passes of micro-batches 0, 1, 2; .: idle\n", wide ? "F0 F1 F2" : "0 1 2");
}

// One row per stage, one column per slot: "F0 B0" where that fits, otherwise one character each.
std::string schedule_drawing(const PipelineSchedule& schedule, std::int64_t micro_batches) {
  constexpr std::int64_t drawn_micro_batches = 8;
  constexpr std::int64_t room = 66;
  const std::int64_t slots = schedule.slots(micro_batches);
  std::int64_t shown = schedule.slots(std::min(micro_batches, drawn_micro_batches));
  const auto cell = static_cast<std::int64_t>(fmt::formatted_size("F{} ", (shown - 1) / schedule.period));
  const bool wide = cell * shown <= room;
  if (!wide) shown = std::min(shown, room - 2);
  std::string text;
  for (int i = 0; i < schedule.stages(); ++i) {
    std::vector<std::string> cells(static_cast<std::size_t>(shown), ".");
    for (const PipelineAction& action : actions_of_stage(schedule, i, std::min(micro_batches, shown))) {
      if (action.slot >= shown) break;
      const auto digit = static_cast<char>(action.micro_batch % 10);
      std::string& place = cells[static_cast<std::size_t>(action.slot)];
      if (wide) place = fmt::format("{}{}", action.forward ? 'F' : 'B', action.micro_batch);
      else place = std::string(1, static_cast<char>((action.forward ? '0' : 'a') + digit));
    }
    std::string row;
    for (const std::string& place : cells) row += fmt::format("{:<{}}", place, wide ? cell : 1);
    if (shown < slots) row += wide ? "..." : " ...";
    row.erase(row.find_last_not_of(' ') + 1);
    text += fmt::format("  stage {:<2} {}\n", i, row);
  }
  return text + legend(wide, !schedule.backward.empty());
}

std::string schedule_text(const Explanation& explanation, const ExplainedCounts& counts) {
  if (explanation.stages.size() < 2) return "";
  const PipelineSchedule& schedule = explanation.schedule;
  const std::string gaps = counts.stages_share_ipus ? "; stages that share an IPU take turns"
                                                    : fmt::format(", bubble {:.1f} %", 100 * counts.bubble);
  return fmt::format("\nSchedule {}: {} in {} slots {}{}\n", schedule.name,
                     counted(counts.micro_batches, "micro-batch"),
                     grouped_by_thousands(schedule.slots(counts.micro_batches)),
                     explanation.training ? "an update" : "an execution", gaps) +
         schedule_drawing(schedule, counts.micro_batches);
}

}  // namespace

std::string to_text(const Explanation& explanation, bool with_memory) {
  const ExplainedCounts counts = counts_of(explanation);
  std::string text = fmt::format("Model \"{}\", {}\n\n", shortened(explanation.model, 45),
                                 explanation.training ? "training" : "evaluation or prediction");
  text += devices_text(explanation, counts) + update_text(explanation, counts) + epoch_text(explanation, counts);
  text += work_text(explanation, counts.megaflops);
  if (with_memory) text += memory_text(explanation, counts);
  text += schedule_text(explanation, counts);
  if (explanation.scaling) text += scaling_text(*explanation.scaling, counts.effective_batch / explanation.workers);
  const std::vector<std::string> list = hints(explanation);
  if (!list.empty()) text += "\nHints\n";
  for (const std::string& hint : list) text += wrapped("  -", 4, plot::readable_text(hint));
  return text;
}

}  // namespace pando
