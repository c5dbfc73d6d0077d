// SPDX-License-Identifier: Apache-2.0
// Files and folders. Paths are bytes; errors name the path and the errno text. Every call may be made from any thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sinew {

// The whole file. RESOURCE_EXHAUSTED when it holds more than limit bytes.
absl::StatusOr<std::string> ReadFile(const std::string& path, std::size_t limit = 16u << 20);

// Readers see the old or the new content, also after a power cut: temporary file, fsync, rename, fsync of the folder.
absl::Status WriteFileAtomic(const std::string& path, const std::string& content, mode_t mode = 0644);

// Makes the folder and its parents; those that exist keep their mode.
absl::Status MakeFolders(const std::string& path, mode_t mode = 0755);

absl::Status FsyncDir(const std::string& path);

// Names in the folder, sorted, without "." and "..".
absl::StatusOr<std::vector<std::string>> ListDir(const std::string& path);

// A leading "~" or "~/" becomes $HOME (else the home folder of the password file).
std::string ExpandUser(const std::string& path);

// XDG base folders with "/sinew" added. RuntimeHome falls back to /tmp/sinew-<uid> without XDG_RUNTIME_DIR.
std::string StateHome();
std::string ConfigHome();
std::string RuntimeHome();

}  // namespace sinew
