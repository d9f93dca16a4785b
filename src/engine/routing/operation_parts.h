// The answers of several shards about operations, of which each has a part.
#pragma once

#include "core/reply.h"

namespace millrace::engine {

// Adds what another shard says. Parts of the same operation stay apart. A shard that does not know
// an operation has no part of it. Of full pages, as far as every shard has told.
void merge_operations(core::OperationReply& whole, core::OperationReply more);

}  // namespace millrace::engine
