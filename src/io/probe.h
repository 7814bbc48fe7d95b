// SPDX-License-Identifier: Apache-2.0
// Checks whether something can be written, before the work whose results go there. Changes nothing and leaves nothing
// behind.
#pragma once
#include <string>
#include <vector>

namespace pando {

// Throws the Error that FileWriter would.
void probe_file(const std::string& path);
// Throws Error, naming the file and the remedy, unless the file can be opened for writing or made in its folder. It may
// be a pipe or a device.
void probe_log(const std::string& path);
// Throws Error, naming the folder and the remedy, unless files can be made in the folder or, if it is missing, the
// folder itself can be made.
void probe_folder(const std::string& path);
// Throws the Error that FolderWriter would: a folder that is there may hold only these files.
void probe_folder(const std::string& path, const std::vector<std::string>& files);
// The folder of a path, whether or not it exists: "." for "file", "a/b" for "a/b/file".
std::string folder_of(const std::string& path);

}  // namespace pando
