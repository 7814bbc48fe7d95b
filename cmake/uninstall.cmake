# SPDX-License-Identifier: Apache-2.0
# Removes what `cmake --install` installed last from this build folder, and the folders that are empty then:
#   cmake -D MANIFEST=BUILD_FOLDER/install_manifest.txt -P uninstall.cmake
if(NOT EXISTS ${MANIFEST})
  message(FATAL_ERROR "nothing was installed from this build folder: there is no ${MANIFEST}")
endif()
file(STRINGS ${MANIFEST} files)
list(FILTER files INCLUDE REGEX "^/")

# The prefix may have been given when it was installed, so the place of a header says what it is.
set(header ${files})
list(FILTER header INCLUDE REGEX "/pando/pando\\.h$")
string(REGEX REPLACE "/[^/]+/pando/pando\\.h$" "" prefix "${header}")
foreach(file IN LISTS files)
  cmake_path(IS_PREFIX prefix "${file}" is_below)
  if(prefix STREQUAL "" OR NOT is_below)
    message(FATAL_ERROR "${MANIFEST} names ${file}, which is not below the prefix '${prefix}'; nothing is removed")
  endif()
endforeach()

set(folders)
foreach(file IN LISTS files)
  file(REMOVE "$ENV{DESTDIR}${file}")
  cmake_path(GET file PARENT_PATH folder)
  while(NOT folder STREQUAL prefix)
    list(APPEND folders "${folder}")
    cmake_path(GET folder PARENT_PATH folder)
  endwhile()
endforeach()

# Folders last to first, so that what they hold is gone before they are looked at.
list(REMOVE_DUPLICATES folders)
list(SORT folders ORDER DESCENDING)
foreach(folder IN LISTS folders)
  # The folders that every system has stay, empty or not.
  cmake_path(GET folder PARENT_PATH parent)
  if(parent MATCHES "^/usr(/local)?$")
    continue()
  endif()
  file(GLOB content "$ENV{DESTDIR}${folder}/*" "$ENV{DESTDIR}${folder}/.[!.]*")
  if(NOT content)
    file(REMOVE_RECURSE "$ENV{DESTDIR}${folder}")
  endif()
endforeach()
file(REMOVE ${MANIFEST})
message(STATUS "removed from $ENV{DESTDIR}${prefix}")
