#include "service/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "service/audit_shape.h"
#include "service/names_cursor.h"
#include "service/visibility.h"

namespace millrace::service {
namespace {

// The most entries examined per call, whatever the filter hides.
constexpr std::size_t kMostLookedAt = 50'000;
constexpr std::uint32_t kRowsAtOnce = 500;

// By shard: the last entry examined; none: start at the end, or at the beginning.
using Places = std::vector<std::optional<std::uint64_t>>;

std::string cursor_of(AuditOrder order, const Places& places) {
  std::string text = order == AuditOrder::kNewestFirst ? "d" : "u";
  for (const auto& place : places) text += fmt::format(".{}", place ? std::to_string(*place) : "");
  return name_cursor(text);
}

std::optional<Places> places_in(std::string_view cursor, AuditOrder order, std::size_t shards) {
  Places places(shards);
  if (cursor.empty()) return places;
  const auto text = parse_name_cursor(cursor);
  const char first = order == AuditOrder::kNewestFirst ? 'd' : 'u';
  if (!text || text->empty() || text->front() != first) return std::nullopt;
  std::string_view rest = std::string_view(*text).substr(1);
  for (auto& place : places) {
    if (rest.empty() || rest.front() != '.') return std::nullopt;
    rest.remove_prefix(1);
    const std::string_view number = rest.substr(0, rest.find('.'));
    rest.remove_prefix(number.size());
    if (number.empty()) continue;
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (error != std::errc() || end != number.data() + number.size()) return std::nullopt;
    place = value;
  }
  return rest.empty() ? std::optional(places) : std::nullopt;
}

bool fits_object(std::string_view wanted, const core::Audited& entry) {
  if (wanted == entry.name.view() || wanted == entry.kind.view()) return true;
  const std::size_t colon = wanted.find(':');
  return colon != std::string_view::npos && wanted.substr(0, colon) == entry.kind.view() &&
         wanted.substr(colon + 1) == entry.name.view();
}

bool fits(const api::AuditFilter& filter, const core::AuditRow& row) {
  const core::Audited& entry = row.entry;
  if (filter.since && row.at < *filter.since) return false;
  if (filter.until && row.at >= *filter.until) return false;
  if (!filter.actor.empty() && filter.actor != entry.actor.token.view() &&
      filter.actor != entry.actor.name.view()) {
    return false;
  }
  if (filter.action.ends_with('*')) {
    const auto stem = std::string_view(filter.action).substr(0, filter.action.size() - 1);
    if (!entry.action.view().starts_with(stem)) return false;
  } else if (!filter.action.empty() && filter.action != entry.action.view()) {
    return false;
  }
  return filter.object.empty() || fits_object(filter.object, entry);
}

// Reads the rows of one shard in pieces.
class ShardRows {
 public:
  ShardRows(const engine::Reads& reads, engine::ShardNumber shard, AuditOrder order,
            std::optional<std::uint64_t> after)
      : reads_(reads), shard_(shard), order_(order), place_(after) {}

  // Null: there is none left.
  Result<const core::AuditRow*> next() {
    if (at_ == rows_.size() && !ended_) {
      auto read = reads_.audit(shard_, {order_ == AuditOrder::kOldestFirst, place_, kRowsAtOnce});
      if (!read) return std::unexpected(read.error());
      rows_ = std::move(*read);
      at_ = 0;
      ended_ = rows_.size() < kRowsAtOnce;
    }
    return at_ == rows_.size() ? nullptr : &rows_[at_];
  }
  void take() {
    place_ = rows_[at_].entry.n;
    ++at_;
  }
  std::optional<std::uint64_t> place() const { return place_; }
  engine::ShardNumber shard() const { return shard_; }

 private:
  const engine::Reads& reads_;
  engine::ShardNumber shard_;
  AuditOrder order_;
  std::optional<std::uint64_t> place_;
  std::vector<core::AuditRow> rows_;
  std::size_t at_ = 0;
  bool ended_ = false;
};

struct Found {
  engine::ShardNumber shard = 0;
  core::AuditRow row;
};
struct FoundPage {
  std::vector<Found> found;
  Places places;
  bool more = false;
};

// Whether two entries are commands of one call, which are shown as one entry.
bool are_one(const core::Audited& a, const core::Audited& b) {
  return (a.jobs || b.jobs) && !a.actor.request.empty() && a.actor.request == b.actor.request &&
         a.action == b.action && a.kind == b.kind && a.name == b.name;
}

void fold(Found& into, const Found& more, AuditOrder order) {
  core::Audited& entry = into.row.entry;
  const core::Audited& other = more.row.entry;
  if (entry.jobs || other.jobs) entry.jobs = entry.jobs.value_or(0) + other.jobs.value_or(0);
  const auto is_empty = [](const core::AuditImage& image) {
    return image.queue == nullptr && image.limit == nullptr && image.schedule == nullptr &&
           image.job == nullptr && image.text.empty();
  };
  if (is_empty(entry.before)) entry.before = other.before;
  if (is_empty(entry.after)) entry.after = other.after;
  // The first command represents the call.
  if (order == AuditOrder::kNewestFirst) {
    into.shard = more.shard;
    into.row.at = more.row.at;
    entry.n = other.n;
  }
}

class Gathering {
 public:
  Gathering(const engine::Reads& reads, const api::AuditFilter& filter, AuditOrder order,
            const Places& places)
      : filter_(filter), order_(order) {
    for (engine::ShardNumber shard = 0; shard < reads.shards(); ++shard) {
      shards_.emplace_back(reads, shard, order, places[shard]);
    }
  }

  Result<FoundPage> run() {
    FoundPage page;
    for (std::size_t looked = 0; looked < kMostLookedAt; ++looked) {
      auto next = earliest();
      if (!next) return std::unexpected(next.error());
      if (*next == nullptr) return finish(std::move(page), false);
      const core::AuditRow& row = **(*next)->next();
      if (is_past(row)) return finish(std::move(page), false);
      if (fits(filter_, row)) {
        Found found{(*next)->shard(), row};
        const auto same = std::ranges::find_if(
            page.found, [&](const Found& one) { return are_one(one.row.entry, found.row.entry); });
        if (same != page.found.end()) {
          fold(*same, found, order_);
        } else if (page.found.size() == static_cast<std::size_t>(filter_.limit)) {
          return finish(std::move(page), true);
        } else {
          page.found.push_back(std::move(found));
        }
      }
      (*next)->take();
    }
    return finish(std::move(page), true);
  }

 private:
  // No entry after this one can match.
  bool is_past(const core::AuditRow& row) const {
    return order_ == AuditOrder::kNewestFirst ? filter_.since && row.at < *filter_.since
                                              : filter_.until && row.at >= *filter_.until;
  }
  // The shard with the next row in order of time.
  Result<ShardRows*> earliest() {
    ShardRows* chosen = nullptr;
    Time time{};
    for (ShardRows& shard : shards_) {
      const auto row = shard.next();
      if (!row) return std::unexpected(row.error());
      if (*row == nullptr) continue;
      const Time at = (*row)->at;
      const bool before = order_ == AuditOrder::kNewestFirst ? at > time : at < time;
      if (chosen == nullptr || before) {
        chosen = &shard;
        time = at;
      }
    }
    return chosen;
  }
  FoundPage finish(FoundPage page, bool more) const {
    page.more = more;
    for (const ShardRows& shard : shards_) page.places.push_back(shard.place());
    return page;
  }

  const api::AuditFilter& filter_;
  const AuditOrder order_;
  std::vector<ShardRows> shards_;
};

}  // namespace

core::Origin about(std::string_view action, std::string_view kind, std::string_view name,
                   std::string_view reason) {
  core::Origin made;
  made.action = SharedBytes(action);
  made.kind = SharedBytes(kind);
  made.name = SharedBytes(name);
  made.reason = SharedBytes(reason);
  return made;
}

Task<void> note_audit(Caller& caller, core::Origin about) {
  core::NoteAudit note{caller.origin_of(std::move(about))};
  Ask asked(caller.port, core::Command(std::move(note)), Asking{engine::kNodesOwn, nullptr});
  engine::Answer answer = co_await asked;
  if (reply_in<core::CatalogReply>(answer) == nullptr) {
    caller.note = "the audit has no entry of this request: the first shard did not take it";
  }
}

Task<Answered<AuditPage>> list_audit(Caller& caller, const api::AuditFilter& filter,
                                     AuditOrder order) {
  // The audit covers all queues.
  auto admitted = admits_to_all_queues(caller);
  if (!admitted) co_return refused(admitted);
  const engine::Reads& reads = caller.services.reads;
  const auto places = places_in(filter.cursor, order, reads.shards());
  if (!places) co_return refused(bad_cursor());
  if (filter.fresh) {
    auto fresh = co_await await_projection(caller);
    if (!fresh) co_return refused(fresh);
  }
  api::AuditFilter wanted = filter;
  if (caller.services.audit_retention) {
    const Time oldest = caller.now() - *caller.services.audit_retention;
    wanted.since = std::max(wanted.since.value_or(oldest), oldest);
  }
  auto read = [&](const std::stop_token&) {
    return Gathering(reads, wanted, order, *places).run();
  };
  auto page = co_await caller.read(Lane::kSearches, read, Caller::Patience::kWait);
  if (!page) co_return refused(page);
  AuditPage made;
  made.more = page->more;
  for (const Found& found : page->found) {
    made.entries.push_back(shown(caller, found.shard, found.row));
  }
  if (page->more || order == AuditOrder::kOldestFirst) {
    made.next = cursor_of(order, page->places);
  }
  co_return made;
}

}  // namespace millrace::service
