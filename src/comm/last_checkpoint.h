// SPDX-License-Identifier: Apache-2.0
// The last checkpoint. A run notes it, and the error that ends the run because of another worker names it.
#pragma once
#include <string>

namespace pando {

// A checkpoint that was written or read. Any thread may call it.
void note_checkpoint(const std::string& path);
// For workers that do not write: where the first one writes checkpoints. Later calls of note_checkpoint() say more.
void note_checkpoint_folder(const std::string& path);
// "; the last checkpoint is PATH", or what else is known, to end a message.
std::string words_about_checkpoint();

}  // namespace pando
