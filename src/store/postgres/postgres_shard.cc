#include "store/postgres/postgres_shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace millrace::store {

std::string PostgresShard::table(std::string_view name) const {
  return fmt::format("millrace.{}_{}", name, shard);
}

int rank_of_synchronous_commit(std::string_view setting) {
  constexpr std::array<std::string_view, 5> kSettings = {"off", "local", "remote_write", "on",
                                                         "remote_apply"};
  const auto* const found = std::ranges::find(kSettings, setting);
  return found == kSettings.end() ? -1 : static_cast<int>(found - kSettings.begin());
}

SqlMessage impatient(ConnectionPool& pool, SqlLimits limits) {
  SqlMessage message(limits);
  message.when_blocked([&pool] { pool.end_blockers(); });
  return message;
}

}  // namespace millrace::store
