// The members of table rows other than jobs and queues: see describe.h.
#pragma once

#include <tuple>

#include "core/changes.h"
#include "core/describe.h"
#include "core/jobs/job_fields.h"
#include "core/operations/operation_fields.h"

namespace millrace::core {

constexpr auto describe(Of<EndedLease>) {
  return std::tuple(Field(1, &EndedLease::token), Field(2, &EndedLease::job),
                    Field(3, &EndedLease::outcome), Field(4, &EndedLease::state));
}

}  // namespace millrace::core
