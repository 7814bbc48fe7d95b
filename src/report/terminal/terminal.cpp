// SPDX-License-Identifier: Apache-2.0
#include "report/terminal/terminal.h"

#include <pando/base/error.h>

#include <fmt/format.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>

#include "base/ascii.h"
#include "base/environment.h"
#include "base/notice.h"
#include "base/text.h"

namespace pando {

namespace {

std::atomic<int> chosen_look = -1;

// The variables in the order in which the C library asks them; the first that is not empty decides.
bool locale_is_utf8() {
  for (std::string locale : {environment("LC_ALL"), environment("LC_CTYPE"), environment("LANG")}) {
    if (locale.empty()) continue;
    for (char& c : locale) c = ascii::to_lower(c);
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return false;
}

}  // namespace

void set_look(Look look) { chosen_look = static_cast<int>(look); }

Look look() {
  if (const int chosen = chosen_look; chosen >= 0) return static_cast<Look>(chosen);
  const std::string name = environment("PANDO_LOOK");
  if (name.empty() || name == "keras3") return Look::keras_3;
  if (name == "keras2") return Look::keras_2;
  throw Error("PANDO_LOOK: " + unknown_name("look", name, {"keras2", "keras3"}));
}

int terminal_columns(std::FILE* stream) {
  if (const auto sink = sink_of(stream)) return sink->columns ? sink->columns() : 0;
  if (isatty(fileno(stream)) == 0 || environment("TERM") == "dumb") return 0;
  winsize size = {};
  const bool known = ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known ? size.ws_col : 80;
}

TerminalLook terminal_look(std::FILE* stream) {
  const auto sink = stream != nullptr ? sink_of(stream) : nullptr;
  const bool colorful = stream != nullptr && terminal_columns(stream) > 0 && (!sink || sink->color);
  return {.look = look(),
          .color = colorful && environment("NO_COLOR").empty(),
          .unicode = sink ? sink->unicode : locale_is_utf8()};
}

bool terminal_rewraps() {
  if (!environment("TMUX").empty()) return true;
  return environment("TERM") != "linux" && environment("XTERM_VERSION").empty() && environment("STY").empty();
}

std::string styled(const TerminalLook& look, std::string_view style, std::string_view text) {
  if (!look.color || style.empty() || text.empty()) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", style, text);
}

}  // namespace pando
