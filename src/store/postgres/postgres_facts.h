// PostgreSQL's facts about itself: its clock, its connections, and transactions left open.
#pragma once

#include "base/result.h"
#include "store/database_facts.h"

namespace millrace::store {

class PostgresNode;

// Blocks for the database, for seconds at most.
Result<DatabaseFacts> look_at_database(PostgresNode& node);

}  // namespace millrace::store
