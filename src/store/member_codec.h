// The durable bytes of a message between the shards of a workflow; the outbox keeps them
// (engine/shard/outbox.h). events.proto defines the format (message MemberBox), and its permanent
// rules apply here too.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "core/command.h"
#include "core/workflows/workflow_commands.h"
#include "store/event_codec.h"

namespace millrace::store {

// The oldest level that can express the message.
EventFormat format_of(const core::MemberMessage& message);

// Replaces the content of `out` and keeps its capacity. A job that is sent has no idempotency key.
// Thread-safe.
void encode_member_message(const core::MemberMessage& message, std::string& out);

struct UnreadableMessage {
  // True: a newer program wrote it and can read it. False: no program can.
  bool too_new = false;
  std::string message;
};

// All or nothing, like decode_events(). Thread-safe.
std::expected<core::MemberMessage, UnreadableMessage> decode_member_message(std::string_view body);

}  // namespace millrace::store
