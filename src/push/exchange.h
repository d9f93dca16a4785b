// The request sent to a receiver, and the effect of its answer on the job.
#pragma once

#include <string_view>

#include "api/push_call.h"
#include "core/command.h"
#include "core/jobs/job.h"
#include "push/caller.h"
#include "push/line.h"

namespace millrace::push {

// The caller sets the call's number.
Call call_for(const core::Job& job, const Line& line, Time now, std::size_t max_answer_bytes);
Call test_call(const Line& line, Time now);

api::PushVerdict verdict_of(const CallEnd& end, Time now, std::size_t max_result_bytes);

// Not for kAccepted: such a job is acknowledged later by the receiver that accepted it.
core::AckItem ack_of(JobId job, LeaseToken token, const api::PushVerdict& verdict);
core::AckItem ack_of(JobId job, LeaseToken token, core::AckOutcome outcome);

}  // namespace millrace::push
