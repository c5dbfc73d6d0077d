// SPDX-License-Identifier: Apache-2.0
// The parent of one task: it outlives the launcher, sees how the task ends, ends what is left of it, and writes that
// into <spool>/<task>. All signals are blocked; it sleeps in poll() until something happens. No C++ library. One thread.
#pragma once

#include "agent/launcher/shim_protocol.h"

namespace sinew::launcher {

// In a process of its own with the descriptors of shim_protocol.h; returns when nothing of the task is left.
void RunShim();

}  // namespace sinew::launcher
