#include "engine/shard/outbox.h"

#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "core/bounds.h"
#include "digest/fingerprint.h"

namespace millrace::engine {
namespace {

constexpr std::string_view kRelayType = "submission";

std::string_view unquoted(std::string_view payload) {
  const bool quoted = payload.size() >= 2 && payload.front() == '"' && payload.back() == '"';
  return quoted ? payload.substr(1, payload.size() - 2) : std::string_view();
}

}  // namespace

core::JobSpec in_outbox(const core::JobSpec& spec) {
  core::JobSpec box;
  box.id = outbox_id_of(spec.id, spec.queue.view());
  // The id is derived from one that a client may have chosen, so two acks may use the same.
  box.id_origin = core::IdOrigin::kClient;
  box.queue = SharedBytes(kOutboxQueue);
  box.type = SharedBytes(kRelayType);
  box.priority = spec.priority;
  // It is retried, however often the delivery fails.
  box.max_attempts = core::kMaxAttempts;
  std::string bytes;
  store::encode_submission(spec, bytes);
  box.payload = SharedBytes('"' + absl::Base64Escape(bytes) + '"');
  return box;
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
      if (shard_of(spec.queue.view(), shards) != shard) spec = in_outbox(spec);
    }
  }
}

std::expected<core::Enqueue, store::UnreadableSubmission> from_outbox(const core::Job& job) {
  std::string bytes;
  const std::string_view text = unquoted(job.payload.view());
  if (!absl::Base64Unescape({text.data(), text.size()}, &bytes)) {
    return std::unexpected(store::UnreadableSubmission{false, "the payload is not a submission"});
  }
  auto read = store::decode_submission(bytes);
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

}  // namespace millrace::engine
