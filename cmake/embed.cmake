# SPDX-License-Identifier: Apache-2.0
# Writes a C++ source that holds text files as strings: cmake -D OUTPUT=... -D HEADER=... -D "FILES=...;..." -P embed.cmake
# The text of FOLDER/page.css becomes pando::assets::page_css, which HEADER declares. Each line is a literal of its own,
# so that no literal is longer than a compiler must accept.
set(source "// Written by cmake/embed.cmake.\n#include \"${HEADER}\"\n\nnamespace pando::assets {\n")
foreach(file IN LISTS FILES)
  file(READ ${file} text)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
  get_filename_component(name ${file} NAME)
  string(MAKE_C_IDENTIFIER ${name} name)
  string(APPEND source "\nconstinit const std::string_view ${name} =\n    \"${text}\";\n")
endforeach()
file(WRITE ${OUTPUT} "${source}\n}  // namespace pando::assets\n")
