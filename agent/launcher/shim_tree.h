// SPDX-License-Identifier: Apache-2.0
// The processes below a shim. No C++ library: the shim is linked statically and must start fast. One thread.
#pragma once

namespace sinew::launcher {

// Sends a signal to every process below the caller: those of the v2 cgroup folder ("" = none) and all descendants. As
// the caller is a subreaper, none can get away by losing its parent. SIGKILL is repeated until a look finds nobody new;
// processes born meanwhile are for the next call.
void SignalTree(int signal, const char* cgroup);

// The whole text of a small file into buffer, with a NUL at its end; its length, or -1.
long ReadSmall(const char* path, char* buffer, unsigned long size);
// Writes text to an existing file; false when that failed.
bool WriteSmall(const char* path, const char* text);

}  // namespace sinew::launcher
