#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "report/pictures/drawing.h"
#include "report/profile/profile.h"

namespace pando {

namespace {

// Perfetto takes process and thread 0 for the idle task, and a thread's number should be its own across processes.
int process_of(const ProfileRow& row) { return row.device + 1; }
int thread_of(const ProfileRow& row) { return 100'000 * (row.device + 1) + row.tile + 1; }

std::string row_name(const ProfileRow& row) {
  return row.tile == ProfileRow::passes ? "passes" : fmt::format("tile {}", row.tile);
}

// JSON has no word for what is not finite.
double finite(double value) { return std::isfinite(value) ? value : 0; }

std::string event_name(const ProfileEvent& event) {
  if (event.kind != ProfileEvent::Kind::kernel)
    return event.micro_batch < 0 ? std::string(name_of(event.kind))
                                 : fmt::format("{} {}", name_of(event.kind), event.micro_batch);
  return event.layer.empty() ? event.op : event.layer;
}

std::string arguments(const ProfileEvent& event) {
  if (event.kind == ProfileEvent::Kind::kernel)
    return fmt::format(R"({{"op":{},"layer":{}}})", json_text(event.op), json_text(event.layer));
  return event.micro_batch < 0 ? "{}" : fmt::format(R"({{"micro_batch":{}}})", event.micro_batch);
}

void append_names(std::string& json, const Profile& profile, const ProfileRow& row, bool first_of_device) {
  const auto metadata = [&](std::string_view what, const std::string& value) {
    fmt::format_to(std::back_inserter(json),
                   R"({{"name":"{}","ph":"M","pid":{},"tid":{},"args":{{{}}}}},)"
                   "\n",
                   what, process_of(row), thread_of(row), value);
  };
  if (first_of_device) {
    metadata("process_name", R"("name":)" + json_text(device_name(profile, row.device)));
    metadata("process_sort_index", fmt::format(R"("sort_index":{})", row.device));
  }
  metadata("thread_name", R"("name":)" + json_text(row_name(row)));
  metadata("thread_sort_index", fmt::format(R"("sort_index":{})", row.tile + 1));
}

void append_events(std::string& json, const ProfileRow& row) {
  for (const ProfileEvent* event : row.events)
    fmt::format_to(std::back_inserter(json),
                   R"({{"name":{},"cat":"{}","ph":"X","ts":{:.3f},"dur":{:.3f},"pid":{},"tid":{},"args":{}}},)"
                   "\n",
                   json_text(event_name(*event)), name_of(event->kind), finite(event->begin), finite(event->duration),
                   process_of(row), thread_of(row), arguments(*event));
}

}  // namespace

std::string json_text(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : plot::readable_text(text)) {
    // "</script>" in a name would end the script that holds it.
    if (c == '<') quoted += "\\u003c";
    else if (c == '"' || c == '\\') quoted += {'\\', c};
    else quoted += c;
  }
  return quoted + '"';
}

std::string chrome_trace(const Profile& profile) {
  std::string json = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  int last_device = -1;
  for (const ProfileRow& row : rows_of(profile)) {
    append_names(json, profile, row, row.device != last_device);
    append_events(json, row);
    last_device = row.device;
  }
  if (json.ends_with(",\n")) json.erase(json.size() - 2, 1);
  return json + fmt::format("],\n\"otherData\":{{\"model\":{},\"complete\":{}}}}}\n", json_text(profile.model),
                            profile.complete);
}

}  // namespace pando
