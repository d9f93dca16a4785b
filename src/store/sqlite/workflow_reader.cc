#include "store/sqlite/workflow_reader.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "store/blob.h"
#include "store/row_codec.h"
#include "store/workflow_rows.h"

namespace millrace::store {
namespace {

constexpr const char* kSelectRecord = "SELECT detail FROM workflows WHERE id = ?1";
constexpr const char* kSelectChunks =
    "SELECT chunk FROM member_chunks WHERE workflow = ?1 AND first >= ?2 AND first < ?3 "
    "ORDER BY first";
constexpr const char* kSelectPages =
    "SELECT page FROM fate_pages WHERE workflow = ?1 AND first >= ?2 AND first < ?3 ORDER BY first";
constexpr const char* kSelectLive = "SELECT id FROM workflows WHERE may_change = 1 ORDER BY id";
constexpr const char* kSelectNewest =
    "SELECT detail FROM workflows WHERE (created_at, id) < (?1, ?2) "
    "ORDER BY created_at DESC, id DESC";
constexpr const char* kSelectFinished =
    "SELECT id FROM workflows WHERE queue = ?1 AND state = ?2 AND over_at IS NOT NULL AND "
    "over_at <= ?3 ORDER BY over_at, id LIMIT ?4";
constexpr const char* kSelectOldest =
    "SELECT min(over_at) FROM workflows WHERE queue = ?1 AND state = ?2 AND over_at IS NOT NULL";

std::unexpected<Error> damaged(std::string_view table) {
  return millrace::failure(fmt::format("jobs.db is damaged: {} has an invalid row", table));
}

}  // namespace

WorkflowReader::WorkflowReader(Database& database, const Clock& clock)
    : database_(database),
      clock_(clock),
      select_record_(database, kSelectRecord),
      select_chunks_(database, kSelectChunks),
      select_pages_(database, kSelectPages) {}

Result<std::optional<core::WorkflowImage>> WorkflowReader::read(const JobId& id,
                                                                std::uint32_t first,
                                                                std::uint32_t count) {
  const Blob key{to_blob(id)};
  if (!select_record_.begin(key).row()) {
    if (!select_record_.ok()) return failure();
    return std::nullopt;
  }
  core::Workflow workflow;
  if (!decode_with_names(select_record_.bytes(0), Time{}, workflow)) return damaged("workflows");
  select_record_.reset();
  ImageRows rows(std::move(workflow), first, count);
  select_chunks_.begin(key, first_chunk_for(rows.first()), rows.end());
  while (select_chunks_.row()) {
    core::MemberChunk chunk;
    if (!decode_with_names(select_chunks_.bytes(0), Time{}, chunk)) return damaged("member_chunks");
    rows.take(std::move(chunk));
  }
  if (!select_chunks_.ok()) return failure();
  select_pages_.begin(key, first_page_for(rows.first()), rows.end());
  while (select_pages_.row()) {
    core::FatePage page;
    if (!decode_value(select_pages_.bytes(0), Time{}, page)) return damaged("fate_pages");
    rows.take(page);
  }
  if (!select_pages_.ok()) return failure();
  auto made = rows.finish();
  if (!made) return std::unexpected(made.error());
  return std::move(*made);
}

Result<std::optional<core::WorkflowImage>> WorkflowReader::image(const JobId& id,
                                                                 std::uint32_t first,
                                                                 std::uint32_t count) {
  const Transaction snapshot(database_, Transaction::Kind::kRead);
  if (!snapshot.ok()) return failure();
  return read(id, first, count);
}

Status WorkflowReader::load(StateVisitor& visitor) {
  std::vector<JobId> live;
  Statement select(database_, kSelectLive);
  select.begin();
  while (select.row()) {
    if (!read_blob(select.bytes(0), live.emplace_back())) return damaged("workflows");
  }
  if (!select.ok()) return failure();
  for (const JobId& id : live) {
    const auto whole = read(id, 0, std::numeric_limits<std::uint32_t>::max());
    if (!whole) return std::unexpected(whole.error());
    if (!*whole) return damaged("workflows");
    visitor.workflow(**whole);
  }
  return {};
}

Result<WorkflowPage> WorkflowReader::list(const WorkflowQuery& query) {
  const Transaction snapshot(database_, Transaction::Kind::kRead);
  if (!snapshot.ok()) return failure();
  const auto end = clock_() + query.budget.time;
  const WorkflowCursor begin = list_begin(query);
  WorkflowCursor last = begin;
  WorkflowPage page;
  Statement select(database_, kSelectNewest);
  select.begin(to_ms(begin.created_at), Blob{to_blob(begin.id)});
  while (select.row()) {
    core::Workflow workflow;
    if (!decode_with_names(select.bytes(0), Time{}, workflow)) return damaged("workflows");
    if (query.created_after && workflow.created_at < *query.created_after) return page;
    const bool late = query.budget.gone.stop_requested() || clock_() >= end;
    const bool fits = matches(query, workflow);
    if (late || (fits && page.workflows.size() == query.limit)) {
      page.next_after = last;
      return page;
    }
    last = place_of(workflow);
    if (fits) page.workflows.push_back(std::move(workflow));
  }
  if (!select.ok()) return failure();
  return page;
}

Result<std::vector<JobId>> WorkflowReader::finished_until(const SharedBytes& queue,
                                                          core::State retained_as, Time until,
                                                          std::uint32_t limit) {
  const auto state = kept_like(retained_as);
  std::vector<JobId> ids;
  if (!state) return ids;
  const Transaction snapshot(database_, Transaction::Kind::kRead);
  Statement select(database_, kSelectFinished);
  select.begin(queue.view(), static_cast<int>(*state), to_ms(until), limit);
  while (select.row()) {
    if (!read_blob(select.bytes(0), ids.emplace_back())) return damaged("workflows");
  }
  if (!select.ok()) return failure();
  return ids;
}

Result<std::optional<Time>> WorkflowReader::oldest_finished(const SharedBytes& queue,
                                                            core::State retained_as) {
  const auto state = kept_like(retained_as);
  if (!state) return std::nullopt;
  const Transaction snapshot(database_, Transaction::Kind::kRead);
  Statement select(database_, kSelectOldest);
  if (!select.begin(queue.view(), static_cast<int>(*state)).row()) return failure();
  const auto at = select.maybe_number(0);
  if (!at) return std::nullopt;
  return time_from_ms(*at);
}

}  // namespace millrace::store
