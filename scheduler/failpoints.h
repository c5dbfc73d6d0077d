// SPDX-License-Identifier: Apache-2.0
// Named places where a test makes the daemon die or stall: SINEW_FAILPOINTS="after-commit=crash@3,before-commit=sleep:50".
// "crash@N" ends the process by SIGKILL at the Nth pass (default the first), "sleep:MS" stalls at each. Costs one branch
// when the variable is not set. Any thread.
#pragma once

namespace sinew {

void Failpoint(const char* name);

}  // namespace sinew
