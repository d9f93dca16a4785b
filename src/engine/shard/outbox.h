// Jobs that an ack, a schedule or a workflow submits to queues of other shards, workflows that an
// ack or a schedule creates, and messages about members of workflows. The commit of the ack's
// outcome makes each of them a job in a queue of the acked job's own shard, with the submission as
// its payload. A workflow goes this way to its own shard, too. From there the shard's leader passes
// them on (node/relay.h). So they exist if and only if the outcome does, and reach their queues a
// moment later.
#pragma once

#include <chrono>
#include <expected>
#include <string_view>

#include "core/command.h"
#include "core/jobs/job.h"
#include "core/workflows/submissions.h"
#include "engine/routing/scatter_gather.h"
#include "store/member_codec.h"
#include "store/submission_codec.h"
#include "store/workflow_codec.h"

namespace millrace::engine {

// Each shard has one. Clients cannot name it in a request.
inline constexpr std::string_view kOutboxQueue = "~outbox";

// A submission repeated within this time of its acceptance makes only one job. A repetition occurs
// if the former leader of the outbox's shard passed the job on and died before that was durable.
inline constexpr std::chrono::hours kOutboxKeyWindow{1};

// The id under which a job of `queue` waits in an outbox. It differs from the job's own id, so that
// the same id is never both in an outbox and at its destination. It depends on the queue: two acks
// may give one id to jobs of two queues, and only the destination can find that conflict.
JobId outbox_id_of(JobId id, std::string_view queue);

// The job that carries a submission to a queue of another shard.
core::JobSpec in_outbox(const core::JobSpec& spec);

// The job that carries a workflow to its shard.
core::JobSpec in_outbox(const core::CreateWorkflow& workflow);

// For an ack about to be decided on `shard`. Deterministic: ids are derived from the jobs' own.
void put_in_outbox(core::Ack& ack, ShardNumber shard, ShardNumber shards);

// The submission in a job that a claim of the outbox has brought. Delays count from the ack. Fails
// if the payload is not one that put_in_outbox() made. The failure is permanent if the payload is
// damaged; if it is too new, a later program can read it.
std::expected<core::Enqueue, store::UnreadableSubmission> from_outbox(const core::Job& job);

// Whether the box carries a workflow, and not a job's submission.
bool carries_workflow(const core::Job& box);
// The workflow. Fails like from_outbox().
std::expected<core::CreateWorkflow, store::UnreadableSubmission> workflow_from_outbox(
    const core::Job& box);

// A message about members of workflows, to another shard or to this one.
core::JobSpec in_outbox(const core::MemberMessage& message, const JobId& id);
// Whether the box carries such a message, and not a submission.
bool carries_message(const core::Job& box);
// The message. Fails like from_outbox().
std::expected<core::MemberMessage, store::UnreadableMessage> message_from_outbox(
    const core::Job& box);

// What the machine of every shard needs to know of all that: MachineOptions::submissions.
const core::Submissions& submissions();

}  // namespace millrace::engine
