// Events of shares.
#include <algorithm>

#include "base/check.h"
#include "core/applier.h"

namespace millrace::core {

void Applier::operator()(const ShareTaken& event) {
  LimitEntry* const entry = state_.gates.find(event.kind, event.name.view());
  MILLRACE_CHECK(entry != nullptr);
  state_.gates.take_share(*entry, event.key, event.share, event.level, at_);
}

void Applier::operator()(const SharesSet& event) {
  LimitEntry* const entry = state_.gates.find(event.kind, event.name.view());
  MILLRACE_CHECK(entry != nullptr);
  if (event.book) {
    for (const Grant& grant : event.book->grants) {
      state_.facts.next_ord = std::max(state_.facts.next_ord, grant.version + 1);
    }
  }
  state_.gates.set_book(state_.gates.gate_for_book(*entry, event.key), event.book, at_);
}

}  // namespace millrace::core
