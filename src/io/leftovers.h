// SPDX-License-Identifier: Apache-2.0
// Temporary names, and what killed processes leave under them.
//
// What is written under a temporary name is locked until it is finished. The system drops the lock with the process
// that holds it, however the process ends, so a file that can be locked was left by a process that is gone. Process
// numbers would say less: they are reused, and mean something else in another container that shares the disk.
#pragma once
#include <pando/base/function.h>

#include <string>
#include <string_view>

#include "io/folder.h"

namespace pando {

// "NAME.1f2e3d4c.part", never the same twice.
std::string temporary_name(std::string_view name);
// The name from which temporary_name() made it; empty if it is not a temporary name.
std::string_view name_of_temporary(std::string_view temporary);

// Makes an empty file under a temporary name and locks it. Returns the descriptor, or -1 and errno.
int create_temporary_file(const Folder& folder, const std::string& name, std::string& temporary);
// The same for a folder. If it cannot be made, returns a Folder that is not open, and errno.
Folder create_temporary_folder(const Folder& parent, const std::string& name, std::string& temporary);

// Removes the temporary files of the names that are `wanted`, unless a process is writing them.
void sweep_files(const Folder& folder, const Function<bool(std::string_view name)>& wanted);
// Removes the temporary folders of `name`, unless a process is writing them, as remove_folder() does.
void sweep_folders(const Folder& parent, std::string_view name, const std::vector<std::string>& files);
// Removes a folder and these files in it, with their temporary ones. It stays if it holds anything else.
void remove_folder(const Folder& parent, const std::string& name, const std::vector<std::string>& files);

}  // namespace pando
