// Merges the answers of several shards about operations; every shard has a part of each.
#pragma once

#include "core/reply.h"

namespace millrace::engine {

// Adds another shard's reply. The parts of an operation stay separate; a shard that does not know
// the operation has no part of it. Full pages are merged only as far as every shard has reported.
void merge_operations(core::OperationReply& whole, core::OperationReply more);

}  // namespace millrace::engine
