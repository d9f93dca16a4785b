// Writes audit entries: it compares the objects of a command before and after the decision.
#pragma once

#include <optional>
#include <vector>

#include "core/audit/audit.h"
#include "core/command.h"
#include "core/event.h"
#include "core/machine.h"
#include "core/shard_state.h"

namespace millrace::core {

// Null: the command has no origin to record.
const Origin* origin_of(const Command& command);

class AuditScribe {
 public:
  // Construct before the command is decided. `origin` must outlive the scribe.
  AuditScribe(const ShardState& state, const Prefetched& prefetched, const Command& command,
              const Origin& origin);

  // Call after the decision. The command's events start at `first`. None: the command changed
  // nothing.
  std::optional<Audited> entry(const std::vector<Event>& events, std::size_t first) const;

 private:
  const ShardState& state_;
  const Prefetched& prefetched_;
  const Command& command_;
  const Origin& origin_;
  AuditImage before_;
};

}  // namespace millrace::core
