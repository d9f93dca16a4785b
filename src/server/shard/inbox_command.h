// Converts a row of the inbox into a command.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>

#include "api/bounds.h"
#include "base/time.h"
#include "core/command.h"
#include "engine/schedules/zones.h"
#include "store/inbox.h"

namespace millrace::server {

struct InboxTerms {
  std::uint32_t shards = 0;
  api::DecodeLimits limits;
  Duration idempotency_window{};
  std::shared_ptr<engine::Zones> zones;  // the time zones that schedules may name
};

// The error says why the row can never be accepted.
std::expected<core::Command, std::string> command_of(const store::InboxRow& row,
                                                     std::uint32_t shard, const InboxTerms& terms);

}  // namespace millrace::server
