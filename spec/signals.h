// SPDX-License-Identifier: Apache-2.0
// Signals by name, without "SIG". Any thread.
#pragma once

#include <string>
#include <vector>

namespace sinew {

// Those a job may ask for as its notice before pre-emption.
const std::vector<std::string>& NoticeSignals();

// 0 when there is no signal of that name.
int SignalNumber(const std::string& name);

// "KILL"; a number that has no name is written out.
std::string SignalName(int number);

}  // namespace sinew
