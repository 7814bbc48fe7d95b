// SPDX-License-Identifier: Apache-2.0
// Text and messages of the library to Python: what it shows goes to sys.stdout and sys.stderr, its messages to logging.
#include <pando/base/output.h>
#include <pando/base/random.h>

#include "bind.h"
#include "spelling.h"

namespace pando::python {

namespace {

void set_output(const std::string& stream, py::object write, Function<int()> columns, bool color, bool unicode) {
  if (stream != "stdout" && stream != "stderr") throw py::value_error("the stream must be 'stdout' or 'stderr'");
  std::FILE* file = stream == "stdout" ? stdout : stderr;
  if (write.is_none()) {
    redirect_output(file, nullptr);
    return;
  }
  auto sink = std::make_shared<OutputSink>();
  sink->write = [held = Held(write)](std::string_view text) {
    const WithGil gil;
    // Bars are cut to the width of the output, and some text is the user's: both may end within a character.
    held.get()(py::reinterpret_steal<py::str>(
        PyUnicode_DecodeUTF8(text.data(), static_cast<py::ssize_t>(text.size()), "replace")));
  };
  sink->columns = std::move(columns);
  sink->color = color;
  sink->unicode = unicode;
  redirect_output(file, sink);
}

void handle_messages(py::object handler) {
  if (handler.is_none()) {
    set_message_handler({});
    return;
  }
  set_message_handler([held = Held(handler)](const Message& message) {
    const WithGil gil;
    held.get()(message.kind == MessageKind::warning ? "warning" : "notice", std::string(message.topic),
               in_python(message.text), message.below_bar);
  });
}

}  // namespace

void bind_output(py::module_& module) {
  module.def("set_output", set_output, py::arg("stream"), py::arg("write"), py::arg("columns") = py::none(),
             py::arg("color") = false, py::arg("unicode") = true,
             "From now on, write(text) is called in the place of the stream; None: the stream itself.");
  module.def("set_message_handler", handle_messages, py::arg("handler"),
             "From now on, handler(kind, topic, text, below_bar) gets all messages; None: they go to standard error.");
}

}  // namespace pando::python
