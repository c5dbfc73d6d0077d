// SPDX-License-Identifier: Apache-2.0
// One sentence for a typed reason, with its numbers. Text is made here, at the edge, and nowhere parsed. Any thread.
#pragma once

#include <string>

#include "proto/sinew/v1/job.pb.h"

namespace sinew {

// "needs 4 of cpu-slot; 1 free in all, 1 on the best node". Never empty.
std::string ReasonText(const v1::Reason& reason);

// What somebody could do about it; "" when there is nothing to do.
std::string ReasonHint(const v1::Reason& reason);

// "INSUFFICIENT_DEVICES", "RUNNING": the stable names. Numbers of a newer daemon are written out.
std::string ReasonName(v1::ReasonCode code);
std::string StateName(v1::JobState state);

// COMPLETED, FAILED, CANCELLED, TIMED_OUT, REJECTED.
bool IsEnd(v1::JobState state);

}  // namespace sinew
