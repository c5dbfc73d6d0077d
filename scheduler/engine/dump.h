// SPDX-License-Identifier: Apache-2.0
// A transaction as text, every field of it: for tests that say "byte for byte", and for reading a replay.
#pragma once

#include <string>

#include "scheduler/engine/transaction.h"

namespace sinew {

std::string Dump(const Job& job);
std::string Dump(const Transaction& transaction);

}  // namespace sinew
