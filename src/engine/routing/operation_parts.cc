#include "engine/routing/operation_parts.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace millrace::engine {

void merge_operations(core::OperationReply& whole, core::OperationReply more) {
  whole.changed |= more.changed;
  const bool refused = more.refusal && more.refusal.why != core::Rejection::kNotFound;
  if (refused) whole.refusal = more.refusal;
  std::ranges::move(more.parts, std::back_inserter(whole.parts));
  whole.next = std::max(whole.next, more.next);
  if (whole.next == core::kNoJob) return;
  std::erase_if(whole.parts, [&](const core::OperationPart& part) { return part.id < whole.next; });
}

}  // namespace millrace::engine
