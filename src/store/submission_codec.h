// The durable bytes of a job that is yet to be submitted; the outbox keeps them
// (engine/shard/outbox.h). events.proto defines the format (message Submission), and its permanent
// rules apply here too.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "core/command.h"
#include "store/event_codec.h"

namespace millrace::store {

// The oldest level that can express the job. Nothing is stored at a level above the store's (D39).
EventFormat format_of(const core::JobSpec& spec);

// Replaces the content of `out` and keeps its capacity. Leaves out an idempotency key: a job
// submitted by an ack has none. Thread-safe.
void encode_submission(const core::JobSpec& spec, std::string& out);

struct UnreadableSubmission {
  // True: a newer program wrote it and can read it. False: no program can.
  bool too_new = false;
  std::string message;
};

// All or nothing, like decode_events(). Thread-safe.
std::expected<core::JobSpec, UnreadableSubmission> decode_submission(std::string_view body);

}  // namespace millrace::store
