// Requests as JSON text.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "millrace/lease.h"
#include "millrace/schedule.h"
#include "millrace/workflow.h"

namespace millrace::sdk {

std::string encode_job(const NewJob& job);
std::string encode_batch(std::span<const NewJob> jobs, bool atomic);
std::string encode_poll(std::string_view worker_id, const PollRequest& request);
std::string encode_trigger(const TriggerSchedule& options);
std::string encode_backfill(const BackfillSchedule& range);
std::string encode_preview(const PreviewSchedule& preview);
std::string encode_workflow(const NewWorkflow& workflow);
std::string encode_members(std::span<const NewMember> members, const AddMembers& options);
std::string encode_retry(const RetryWorkflow& options);

}  // namespace millrace::sdk
