// SPDX-License-Identifier: Apache-2.0
// An event whose answer the calling thread waits for. Any thread but the controller's.
#pragma once

#include <utility>

#include "absl/synchronization/notification.h"
#include "scheduler/controller.h"

namespace sinew {

inline CallerAnswer Ask(Controller& controller, Event event) {
  absl::Notification done;
  CallerAnswer answer;
  controller.Call(std::move(event), [&](const CallerAnswer& a) {
    answer = a;
    done.Notify();
  });
  done.WaitForNotification();
  return answer;
}

}  // namespace sinew
