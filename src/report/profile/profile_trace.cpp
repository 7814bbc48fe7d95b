// SPDX-License-Identifier: Apache-2.0
// The Chrome trace of a profile: an event on each line, all of them in one string.
#include <fmt/format.h>

#include <cmath>

#include "io/json_writer.h"
#include "report/pictures/drawing.h"
#include "report/profile/profile.h"

namespace pando {

namespace {

// Perfetto takes process and thread 0 for the idle task, and a thread's number should be unique across processes.
int process_of(const ProfileRow& row) { return row.device + 1; }
int thread_of(const ProfileRow& row) { return 100'000 * (row.device + 1) + row.tile + 1; }

std::string row_name(const ProfileRow& row) {
  return row.tile == ProfileRow::passes ? "passes" : fmt::format("tile {}", row.tile);
}

// Trace viewers expect a number.
double finite(double value) { return std::isfinite(value) ? value : 0; }

std::string event_name(const ProfileEvent& event) {
  if (event.kind != ProfileEvent::Kind::kernel)
    return event.micro_batch < 0 ? std::string(name_of(event.kind))
                                 : fmt::format("{} {}", name_of(event.kind), event.micro_batch);
  return event.name.empty() ? event.op : event.name;
}

void write_arguments(JsonWriter& json, const ProfileEvent& event) {
  json.name("args");
  json.begin_object();
  if (event.kind == ProfileEvent::Kind::kernel) {
    json.member("op", plot::readable_text(event.op));
    json.member("layer", plot::readable_text(event.layer));
  } else if (event.micro_batch >= 0) {
    json.member("micro_batch", event.micro_batch);
  }
  json.end_object();
}

template <class Value>
void write_metadata(JsonWriter& json, const ProfileRow& row, std::string_view what, std::string_view name,
                    const Value& value) {
  json.new_line();
  json.begin_object();
  json.member("name", what);
  json.member("ph", "M");
  json.member("pid", process_of(row));
  json.member("tid", thread_of(row));
  json.name("args");
  json.begin_object();
  json.member(name, value);
  json.end_object();
  json.end_object();
}

void write_names(JsonWriter& json, const Profile& profile, const ProfileRow& row, bool first_of_device) {
  if (first_of_device) {
    write_metadata(json, row, "process_name", "name", plot::readable_text(device_name(profile, row.device)));
    write_metadata(json, row, "process_sort_index", "sort_index", row.device);
  }
  write_metadata(json, row, "thread_name", "name", row_name(row));
  write_metadata(json, row, "thread_sort_index", "sort_index", row.tile + 1);
}

void write_event(JsonWriter& json, const ProfileRow& row, const ProfileEvent& event) {
  json.new_line();
  json.begin_object();
  json.member("name", plot::readable_text(event_name(event)));
  json.member("cat", name_of(event.kind));
  json.member("ph", "X");
  json.name("ts");
  json.fixed(finite(event.begin), 3);
  json.name("dur");
  json.fixed(finite(event.duration), 3);
  json.member("pid", process_of(row));
  json.member("tid", thread_of(row));
  write_arguments(json, event);
  json.end_object();
}

}  // namespace

std::string chrome_trace(const Profile& profile) {
  std::string text;
  JsonWriter json(text, {.blanks = false, .in_script = true});
  json.begin_object();
  json.member("displayTimeUnit", "ms");
  json.name("traceEvents");
  json.begin_list();
  int last_device = -1;
  for (const ProfileRow& row : rows_of(profile)) {
    write_names(json, profile, row, row.device != last_device);
    for (const ProfileEvent* event : row.events) write_event(json, row, *event);
    last_device = row.device;
  }
  json.new_line();
  json.end_list();
  json.new_line();
  json.name("otherData");
  json.begin_object();
  json.member("model", plot::readable_text(profile.model));
  json.member("complete", profile.recorded.empty());
  json.end_object();
  json.end_object();
  text += '\n';
  return text;
}

}  // namespace pando
