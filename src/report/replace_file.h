// Files that reports are written to.
#pragma once
#include <string>

namespace pando {

// Whoever looks at the path meanwhile sees the old file or the new one, never a part. Throws Error, which begins with
// `who`, if it cannot be written.
void replace_file(const std::string& who, const std::string& path, const std::string& bytes);

}  // namespace pando
