// Writes the entries of the audit: looks at what a command is about before it is decided and after.
#pragma once

#include <optional>
#include <vector>

#include "core/audit.h"
#include "core/command.h"
#include "core/event.h"
#include "core/machine.h"
#include "core/shard_state.h"

namespace millrace::core {

// Null: nobody is to be named for the command.
const Origin* origin_of(const Command& command);
void forget_origin(Command& command);

class AuditScribe {
 public:
  // Before the command is decided. `origin` stays valid.
  AuditScribe(const ShardState& state, const Prefetched& prefetched, const Command& command,
              const Origin& origin);

  // After that. `events`: those from `first` on are the command's. None: it changed nothing.
  std::optional<Audited> entry(const std::vector<Event>& events, std::size_t first) const;

 private:
  const ShardState& state_;
  const Prefetched& prefetched_;
  const Command& command_;
  const Origin& origin_;
  AuditImage before_;
};

}  // namespace millrace::core
