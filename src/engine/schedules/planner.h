// Plans a schedule: the due instants, and the next one. Depends only on the schedule, the zone data
// and the wall clock.
#pragma once

#include "base/time.h"
#include "core/schedules/firing.h"
#include "core/schedules/schedule.h"
#include "engine/routing/scatter_gather.h"
#include "engine/schedules/zones.h"

namespace millrace::engine {

// A firing runs at most this many instants; the rest follow in the next step. The bytes of their
// payloads are bounded too, to bound the step's row.
inline constexpr std::size_t kMaxInstantsPerFiring = 64;
inline constexpr std::size_t kMaxFiringBytes = std::size_t{1} << 20;
// Skipped instants are counted up to this; the count then says "at least".
inline constexpr std::uint64_t kMaxMissedCounted = 10'000;
// A schedule whose instants cannot be computed is retried after this pause.
inline constexpr Duration kBrokenPause{60'000};

// `shard` of `shards` has the schedule.
core::Firing plan_firing(const core::Schedule& schedule, Zones& zones, Time wall, ShardNumber shard,
                         ShardNumber shards);

// The instants that an edit leaves owed (core::ScheduleProgress::owed): they had passed at `wall`
// unhandled, and `edited` contains them too.
std::vector<Time> owed_after_edit(const core::Schedule& schedule, const core::ScheduleSpec& edited,
                                  Zones& zones, Time wall);

// A schedule's workflow, as ScheduleSpec::workflow holds it, and back. The id is left out.
SharedBytes template_of(core::CreateWorkflow workflow);
Result<core::CreateWorkflow> read_workflow_template(const SharedBytes& bytes);

// A schedule's job, as ScheduleSpec::job holds it, and back. The id and its origin are left out.
SharedBytes template_of(core::JobSpec spec);
Result<core::JobSpec> read_template(const SharedBytes& bytes);

// The id of the job or workflow of an instant. The same instant always gives the same id, so a job
// that still exists is recognized. Another schedule under the same name has other ids.
JobId job_id_of(const core::Schedule& schedule, Time instant);
// The job of an instant as it is submitted: without an id, and with the schedule in its extras.
Result<core::JobSpec> job_of(const core::Schedule& schedule, Time instant);
// The same for a workflow, whose jobs have the schedule in their extras.
Result<core::CreateWorkflow> workflow_of(const core::Schedule& schedule, Time instant);

}  // namespace millrace::engine
