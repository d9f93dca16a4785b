#include "engine/shard/outbox.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "core/bounds.h"
#include "digest/fingerprint.h"

namespace millrace::engine {
namespace {

constexpr std::string_view kRelayType = "submission";
constexpr std::string_view kWorkflowType = "workflow";
constexpr std::string_view kMessageType = "members";

std::string_view unquoted(std::string_view payload) {
  const bool quoted = payload.size() >= 2 && payload.front() == '"' && payload.back() == '"';
  return quoted ? payload.substr(1, payload.size() - 2) : std::string_view();
}

// None: the payload is not one that a box has.
std::optional<std::string> content_of(const core::Job& box) {
  std::string bytes;
  const std::string_view text = unquoted(box.payload.view());
  if (!absl::Base64Unescape({text.data(), text.size()}, &bytes)) return std::nullopt;
  return bytes;
}

core::JobSpec box_with(const JobId& id, std::string_view type, const std::string& content) {
  core::JobSpec box;
  box.id = id;
  // The id is derived from one that a client may have chosen, so two acks may use the same.
  box.id_origin = core::IdOrigin::kClient;
  box.queue = SharedBytes(kOutboxQueue);
  box.type = SharedBytes(type);
  // It is retried, however often the delivery fails.
  box.max_attempts = core::kMaxAttempts;
  box.payload = SharedBytes('"' + absl::Base64Escape(content) + '"');
  return box;
}

class OutboxSubmissions final : public core::Submissions {
 public:
  std::optional<core::JobSpec> read(const SharedBytes& job) const override {
    auto spec = store::decode_submission(job.view());
    return spec ? std::optional(std::move(*spec)) : std::nullopt;
  }
  core::JobSpec box_of(const core::JobSpec& spec) const override { return in_outbox(spec); }
  JobId box_id_of(const JobId& id, std::string_view queue) const override {
    return outbox_id_of(id, queue);
  }
  core::JobSpec box_of(const core::MemberMessage& message, const JobId& id) const override {
    return in_outbox(message, id);
  }
};

}  // namespace

core::JobSpec in_outbox(const core::JobSpec& spec) {
  std::string bytes;
  store::encode_submission(spec, bytes);
  core::JobSpec box = box_with(outbox_id_of(spec.id, spec.queue.view()), kRelayType, bytes);
  box.priority = spec.priority;
  return box;
}

core::JobSpec in_outbox(const core::CreateWorkflow& workflow) {
  std::string bytes;
  store::encode_workflow(workflow, bytes);
  return box_with(outbox_id_of(workflow.id, workflow.spec.queue.view()), kWorkflowType, bytes);
}

core::JobSpec in_outbox(const core::MemberMessage& message, const JobId& id) {
  std::string bytes;
  store::encode_member_message(message, bytes);
  return box_with(id, kMessageType, bytes);
}

bool carries_message(const core::Job& box) { return box.type.view() == kMessageType; }

std::expected<core::MemberMessage, store::UnreadableMessage> message_from_outbox(
    const core::Job& box) {
  const std::optional<std::string> bytes = content_of(box);
  if (!bytes) {
    return std::unexpected(store::UnreadableMessage{false, "the payload is not a message"});
  }
  return store::decode_member_message(*bytes);
}

const core::Submissions& submissions() {
  static const OutboxSubmissions kSubmissions;
  return kSubmissions;
}

JobId outbox_id_of(JobId id, std::string_view queue) {
  // The last seven bytes are random in every version of UUID.
  const Fingerprint mask = fingerprint(queue);
  for (std::size_t i = 9; i < id.bytes.size(); ++i) id.bytes[i] ^= mask.bytes[i];
  id.bytes.back() ^= mask.bytes.back() % 2 == 0 ? 1 : 0;  // never its own id
  return id;
}

void put_in_outbox(core::Ack& ack, ShardNumber shard, ShardNumber shards) {
  for (core::AckItem& item : ack.items) {
    for (core::JobSpec& spec : item.enqueue) {
      if (shards > 1 && shard_of(spec.queue.view(), shards) != shard) spec = in_outbox(spec);
    }
    for (const core::CreateWorkflow& workflow : item.workflows) {
      item.enqueue.push_back(in_outbox(workflow));
    }
    item.workflows.clear();
  }
}

std::expected<core::Enqueue, store::UnreadableSubmission> from_outbox(const core::Job& job) {
  const std::optional<std::string> bytes = content_of(job);
  if (!bytes) {
    return std::unexpected(store::UnreadableSubmission{false, "the payload is not a submission"});
  }
  auto read = store::decode_submission(*bytes);
  if (!read) return std::unexpected(std::move(read.error()));
  core::JobSpec spec = std::move(*read);
  if (!spec.run_at && spec.delay > Duration{0}) spec.run_at = job.created_at + spec.delay;
  if (!spec.expires_at && spec.expires_in) spec.expires_at = job.created_at + *spec.expires_in;
  spec.id_origin = core::IdOrigin::kClient;
  core::Enqueue enqueue;
  enqueue.key =
      core::IdempotencyKey{.key = fingerprint(spec.queue.view(), "outbox " + to_string(spec.id)),
                           .body = fingerprint(job.payload.view()),
                           .expires_at = {}};
  enqueue.key_window = kOutboxKeyWindow;
  enqueue.jobs.push_back(std::move(spec));
  return enqueue;
}

bool carries_workflow(const core::Job& box) { return box.type.view() == kWorkflowType; }

std::expected<core::CreateWorkflow, store::UnreadableSubmission> workflow_from_outbox(
    const core::Job& box) {
  const std::optional<std::string> bytes = content_of(box);
  if (!bytes) {
    return std::unexpected(store::UnreadableSubmission{false, "the payload is not a workflow"});
  }
  auto read = store::decode_workflow(*bytes);
  if (!read) return read;
  core::CreateWorkflow create = std::move(*read);
  create.id_of_client = true;
  core::SubmissionKey key;
  key.key = fingerprint(create.spec.queue.view(), "outbox " + to_string(create.id));
  key.body = create.content;
  key.window = kOutboxKeyWindow;
  create.key = std::make_shared<const core::SubmissionKey>(key);
  return create;
}

}  // namespace millrace::engine
