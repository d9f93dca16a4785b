// The place of a row in a shard's inbox (store/inbox.h).
#pragma once

#include <compare>
#include <cstdint>

namespace millrace::store {

// Of the database's transaction that wrote it, and the row's own number: in this order rows are
// taken. A transaction that began after another's commit had returned has the higher `xid`.
struct InboxKey {
  std::uint64_t xid = 0;
  std::uint64_t id = 0;
  friend auto operator<=>(const InboxKey&, const InboxKey&) = default;
};

}  // namespace millrace::store
