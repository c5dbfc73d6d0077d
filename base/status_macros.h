// SPDX-License-Identifier: Apache-2.0
// RETURN_IF_ERROR and ASSIGN_OR_RETURN over absl::Status, which Debian's Abseil does not ship.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define SINEW_CONCAT_INNER(a, b) a##b
#define SINEW_CONCAT(a, b) SINEW_CONCAT_INNER(a, b)

#define RETURN_IF_ERROR(expr)                                 \
  do {                                                        \
    if (absl::Status sinew_status_ = (expr); !sinew_status_.ok()) return sinew_status_; \
  } while (false)

#define ASSIGN_OR_RETURN(lhs, expr) \
  SINEW_ASSIGN_OR_RETURN_IMPL(SINEW_CONCAT(sinew_statusor_, __LINE__), lhs, expr)

#define SINEW_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                                \
  if (!tmp.ok()) return std::move(tmp).status();    \
  lhs = *std::move(tmp)
