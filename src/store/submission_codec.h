// A job that is yet to be submitted, as bytes that last: what the outbox keeps of it
// (engine/outbox.h). events.proto is the format's truth (message Submission), and its rules for
// ever hold here too.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "core/command.h"
#include "store/event_codec.h"

namespace millrace::store {

// The oldest level that can say it. Nothing is kept at a level above the store's (D39).
EventFormat format_of(const core::JobSpec& spec);

// Replaces `out`, whose capacity is kept. A key of its own is left out: a job that an ack submits
// has none. Thread-safe.
void encode_submission(const core::JobSpec& spec, std::string& out);

struct UnreadableSubmission {
  // A newer program wrote it and can read it. Otherwise nobody can.
  bool too_new = false;
  std::string message;
};

// All or nothing, as decode_events(). Thread-safe.
std::expected<core::JobSpec, UnreadableSubmission> decode_submission(std::string_view body);

}  // namespace millrace::store
