// The workflow of a schedule, as specified. Views as in job.h.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "api/workflow.h"

namespace millrace::api {

struct ScheduleMember {
  std::string_view ref;  // empty: absent
  std::vector<MemberNeed> needs;
  bool needs_any = false;
  ScheduleJob job;
};
struct ScheduleCallback {
  MemberRole role{};
  ScheduleJob job;
};
struct ScheduleWorkflow {
  std::string_view queue;
  std::string_view name;  // empty: absent
  std::vector<std::string_view> tags;
  StringMapView meta;
  std::vector<ScheduleMember> members;
  OnMemberFailed on_member_failed{};
  std::vector<ScheduleCallback> callbacks;
  std::optional<std::int64_t> max_active;
  std::optional<Duration> timeout;
  std::string_view result_from;  // empty: absent
  bool keep_members = true;
};
void encode(JsonWriter& json, const ScheduleWorkflow& workflow);

}  // namespace millrace::api
