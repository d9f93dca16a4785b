// The outcome of an append for each SQLSTATE.
#include "store/postgres/sql_failure.h"

#include <gtest/gtest.h>

#include <array>
#include <utility>

namespace millrace::store {
namespace {

TEST(SqlFailure, DecidesByTheState) {
  using Outcome = AppendOutcome;
  // As the server says it: an error before the commit.
  const std::array<std::pair<const char*, Outcome>, 14> kCases = {{
      {"25006", Outcome::kFenced},   // read only
      {"53100", Outcome::kFailed},   // disk full
      {"53200", Outcome::kFailed},   // out of memory
      {"53300", Outcome::kFailed},   // too many connections
      {"55P03", Outcome::kFailed},   // lock not available
      {"57014", Outcome::kFailed},   // statement timeout
      {"40P01", Outcome::kFailed},   // deadlock
      {"42P01", Outcome::kFailed},   // no such table
      {"57P01", Outcome::kUnknown},  // administrator's shutdown
      {"57P02", Outcome::kUnknown},  // crash
      {"57P03", Outcome::kUnknown},  // can't connect now
      {"08006", Outcome::kUnknown},  // connection failure
      {"XX001", Outcome::kBroken},   // data corrupted
      {"XX002", Outcome::kBroken},   // index corrupted
  }};
  for (const auto& [state, outcome] : kCases) {
    EXPECT_EQ(append_outcome({state, "", true}), outcome) << state;
  }
  // Without any message from the server, or after its last one.
  EXPECT_EQ(append_outcome({"", "the server lost its connection to the database", false}),
            Outcome::kUnknown);
  EXPECT_EQ(append_outcome({"", "connection refused", true}), Outcome::kFailed);
  EXPECT_EQ(append_outcome({"XX000", "", false}), Outcome::kUnknown);
}

}  // namespace
}  // namespace millrace::store
