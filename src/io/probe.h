// Whether something can be written, asked before the work whose results go there. Nothing is changed or left behind.
#pragma once
#include <string>
#include <vector>

namespace pando {

// Throws the Error that FileWriter would.
void probe_file(const std::string& path);
// Throws Error, naming the file and the remedy, unless it can be opened to write, or made in its folder. It may be a
// pipe or a device.
void probe_log(const std::string& path);
// Throws Error, naming the folder and the remedy, unless files can be made in the folder, or, where it is missing, the
// folder itself.
void probe_folder(const std::string& path);
// Throws the Error that FolderWriter would: a folder that is there may hold only these files.
void probe_folder(const std::string& path, const std::vector<std::string>& files);
// Of a folder that is there or can be made: "." for "file", "a/b" for "a/b/file".
std::string folder_of(const std::string& path);

}  // namespace pando
