#include "server/shard/inbox_command.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>

#include "api/schedule.h"
#include "api/submission.h"
#include "api/text.h"
#include "api/workflow.h"
#include "base/json_check.h"
#include "base/random.h"
#include "digest/fingerprint.h"
#include "engine/routing/scatter_gather.h"
#include "service/convert.h"
#include "service/schedule_spec.h"
#include "service/workflow_draft.h"

namespace millrace::server {
namespace {

std::optional<std::string> fault_of_payload(const std::string& payload,
                                            const api::DecodeLimits& limits,
                                            std::string_view name) {
  if (payload.size() > limits.payload_bytes) {
    return fmt::format("{}: must have at most {} bytes", name, limits.payload_bytes);
  }
  // Over HTTP the request's own object is one level.
  const auto fault = check_json(payload, limits.json_depth - 1, LoneSurrogates::kKept);
  if (fault) return fmt::format("{}: {}, at byte {}", name, fault->reason, fault->position);
  return std::nullopt;
}

std::string sentence_of(const api::Problem& problem) {
  if (problem.errors.empty()) return problem.detail;
  return fmt::format("{}: {}", problem.errors.front().where, problem.errors.front().detail);
}

std::expected<core::Command, std::string> enqueue_of(const store::InboxRow& row,
                                                     std::uint32_t shard, const InboxTerms& terms) {
  auto job = api::decode_job(row.spec, terms.limits);
  if (!job) return std::unexpected(sentence_of(job.error()));
  if (auto fault = fault_of_payload(row.payload, terms.limits, "payload")) {
    return std::unexpected(std::move(*fault));
  }
  if (engine::shard_of(job->queue, terms.shards) != shard) {
    return std::unexpected(fmt::format("the queue lies on another shard than {}", shard));
  }
  const bool made_here = !job->id.has_value();
  job->id = row.job;
  job->payload = row.payload;
  // Both count from the call.
  if (job->delay) job->run_at = add_saturating(row.at, *job->delay);
  if (job->expires_in) job->expires_at = add_saturating(row.at, *job->expires_in);
  job->delay.reset();
  job->expires_in.reset();

  core::Enqueue enqueue;
  if (!row.idempotency_key.empty()) {
    core::IdempotencyKey key;
    key.key = fingerprint(job->queue, row.idempotency_key);
    key.body = fingerprint(row.spec, row.payload);
    enqueue.key = key;
    enqueue.key_window = terms.idempotency_window;
  }
  service::IdMaker no_ids(0);  // the row already has one
  service::SpecMaker specs(no_ids, row.at);
  enqueue.jobs.push_back(specs.make(*job));
  if (made_here) enqueue.jobs.back().id_origin = core::IdOrigin::kServer;
  return enqueue;
}

std::expected<core::Command, std::string> workflow_of(const store::InboxRow& row,
                                                      std::uint32_t shard,
                                                      const InboxTerms& terms) {
  auto workflow = api::decode_workflow(row.payload, terms.limits);
  if (!workflow) return std::unexpected(sentence_of(workflow.error()));
  if (engine::shard_of(workflow->queue, terms.shards) != shard) {
    return std::unexpected(fmt::format("the queue lies on another shard than {}", shard));
  }
  service::MemberMaker maker(row.at);
  auto draft = service::draft_workflow(*workflow, maker, api::kMaxMemberBytesPerCall, "");
  if (!draft) return std::unexpected(sentence_of(draft.error()));
  core::CreateWorkflow create = std::move(*draft);
  create.id = row.job;
  create.id_of_client = workflow->id.has_value();
  create.content = fingerprint("workflow", row.payload);
  if (!row.idempotency_key.empty()) {
    create.key = std::make_shared<const core::SubmissionKey>(
        core::SubmissionKey{fingerprint(workflow->queue, row.idempotency_key), create.content,
                            terms.idempotency_window});
  }
  return create;
}

core::Ack fence_of(const store::InboxRow& row) {
  core::AckItem item;
  item.id = row.job;
  item.token = row.token;
  item.outcome = core::AckOutcome::kSucceeded;
  core::Ack ack;
  ack.items.push_back(std::move(item));
  ack.right = core::AckRight::kFenceRaised;
  return ack;
}

std::expected<core::Command, std::string> finish_of(const store::InboxRow& row) {
  core::Ack ack = fence_of(row);
  ack.right = core::AckRight::kFence;
  if (!row.payload.empty()) {
    // The transaction committed within the bounds that millrace.finish checks. A server with lower
    // bounds must not reject it afterwards.
    if (auto fault = fault_of_payload(row.payload, api::DecodeLimits{}, "result")) {
      return std::unexpected(std::move(*fault));
    }
    ack.items.front().result = SharedBytes(row.payload);
  }
  return ack;
}

std::optional<std::string> fault_of_name(const store::InboxRow& row, std::uint32_t shard,
                                         const InboxTerms& terms) {
  if (!api::is_name(row.schedule)) return fmt::format("name: {}", api::kNameRule);
  if (auto admitted = service::admits_schedule_name(row.schedule); !admitted) {
    return sentence_of(admitted.error());
  }
  if (engine::shard_of(row.schedule, terms.shards) != shard) {
    return fmt::format("the schedule lies on another shard than {}", shard);
  }
  return std::nullopt;
}

core::SharedOrigin by_sql() {
  core::Origin origin;
  origin.actor.via = core::AuditVia::kSql;
  return std::make_shared<const core::Origin>(std::move(origin));
}

std::expected<core::Command, std::string> set_schedule_of(const store::InboxRow& row,
                                                          std::uint32_t shard,
                                                          const InboxTerms& terms) {
  if (auto fault = fault_of_name(row, shard, terms)) return std::unexpected(std::move(*fault));
  auto spec = api::decode_schedule(row.payload, terms.limits);
  if (!spec) return std::unexpected(sentence_of(spec.error()));
  auto made = service::to_core(*terms.zones, row.at, *spec, "");
  if (!made) return std::unexpected(sentence_of(made.error()));
  core::SetSchedule set;
  set.name = SharedBytes(row.schedule);
  set.spec = std::move(*made);
  set.paused = spec->paused;
  set.incarnation = system_random();
  set.by = by_sql();
  return set;
}

std::expected<core::Command, std::string> delete_schedule_of(const store::InboxRow& row,
                                                             std::uint32_t shard,
                                                             const InboxTerms& terms) {
  if (auto fault = fault_of_name(row, shard, terms)) return std::unexpected(std::move(*fault));
  return core::DeleteSchedule{SharedBytes(row.schedule), std::nullopt, by_sql()};
}

}  // namespace

std::expected<core::Command, std::string> command_of(const store::InboxRow& row,
                                                     std::uint32_t shard, const InboxTerms& terms) {
  switch (row.kind) {
    case store::InboxKind::kEnqueue:
      return enqueue_of(row, shard, terms);
    case store::InboxKind::kFinish:
      return finish_of(row);
    case store::InboxKind::kFence:
      return fence_of(row);
    case store::InboxKind::kSetSchedule:
      return set_schedule_of(row, shard, terms);
    case store::InboxKind::kDeleteSchedule:
      return delete_schedule_of(row, shard, terms);
    case store::InboxKind::kWorkflow:
      return workflow_of(row, shard, terms);
  }
  return std::unexpected("this version does not know what to do with it");
}

}  // namespace millrace::server
