# SPDX-License-Identifier: Apache-2.0
# docs/ops.md is what the definitions say: cmake -DPROGRAM=document_ops -DPAGE=docs/ops.md -P documentation.cmake
execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
file(READ ${PAGE} page)
if(NOT printed STREQUAL page)
  message(FATAL_ERROR "docs/ops.md is not what the ops say; run: ${PROGRAM} > docs/ops.md")
endif()
