#include "store/postgres/postgres_workflows.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "store/blob.h"
#include "store/row_codec.h"

namespace millrace::store {
namespace {

using Use = ConnectionPool::Use;

constexpr const char* kSelectRecord =
    "SELECT detail FROM millrace.workflow_rows WHERE shard = $1 AND id = $2";
constexpr const char* kSelectChunks =
    "SELECT workflow, chunk FROM millrace.member_chunk_rows WHERE shard = $1 AND workflow = $2 AND "
    "first >= $3 AND first < $4 ORDER BY first";
constexpr const char* kSelectPages =
    "SELECT workflow, page FROM millrace.fate_page_rows WHERE shard = $1 AND workflow = $2 AND "
    "first >= $3 AND first < $4 ORDER BY first";
constexpr const char* kSelectLive =
    "SELECT detail FROM millrace.workflow_rows WHERE shard = $1 AND may_change ORDER BY id";
constexpr const char* kSelectLiveChunks =
    "SELECT c.workflow, c.chunk FROM millrace.workflow_rows AS w JOIN millrace.member_chunk_rows "
    "AS c ON c.shard = w.shard AND c.workflow = w.id WHERE w.shard = $1 AND w.may_change "
    "ORDER BY c.workflow, c.first";
constexpr const char* kSelectLivePages =
    "SELECT p.workflow, p.page FROM millrace.workflow_rows AS w JOIN millrace.fate_page_rows AS p "
    "ON p.shard = w.shard AND p.workflow = w.id WHERE w.shard = $1 AND w.may_change "
    "ORDER BY p.workflow, p.first";
constexpr const char* kSelectNewest =
    "SELECT detail FROM millrace.workflow_rows WHERE shard = $1 AND (created_at, id) < ($2, $3) "
    "ORDER BY created_at DESC, id DESC LIMIT $4";
constexpr const char* kSelectFinished =
    "SELECT id FROM millrace.workflow_rows WHERE shard = $1 AND queue = $2 AND state = $3 AND "
    "over_at IS NOT NULL AND over_at <= $4 ORDER BY over_at, id LIMIT $5";
constexpr const char* kSelectOldest =
    "SELECT over_at FROM millrace.workflow_rows WHERE shard = $1 AND queue = $2 AND state = $3 AND "
    "over_at IS NOT NULL ORDER BY over_at LIMIT 1";

constexpr std::int64_t kFirstPiece = 64;
constexpr std::int64_t kLargestPiece = 1'024;

std::unexpected<Error> damaged(std::string_view table) {
  return failure(fmt::format("the tables are damaged: {} has an invalid row", table));
}

}  // namespace

Result<SqlResult> PostgresWorkflows::read(const char* sql, Parameters parameters) {
  SqlMessage message({});
  message.add(sql, std::move(parameters));
  auto replies = shard_.pool->run(Use::kLookup, message);
  if (!replies) return to_error(replies.error());
  return std::move(replies->results.front());
}

bool PostgresWorkflows::note(Status status) {
  if (status_) status_ = std::move(status);
  return status_.has_value();
}

ImageRows* PostgresWorkflows::image_of(const SqlRow& row) {
  JobId id;
  if (!read_blob(row.bytes(0), id)) return nullptr;
  const auto found = images_.find(id);
  return found == images_.end() ? nullptr : &found->second;
}

bool PostgresWorkflows::take_record(const SqlRow& row) {
  core::Workflow workflow;
  if (!decode_with_names(row.bytes(0), Time{}, workflow)) return note(damaged("workflow_rows"));
  const JobId id = workflow.id;
  images_.emplace(id, ImageRows(std::move(workflow), first_, count_));
  return true;
}

bool PostgresWorkflows::take_chunk(const SqlRow& row) {
  ImageRows* const image = image_of(row);
  core::MemberChunk chunk;
  if (image == nullptr || !decode_with_names(row.bytes(1), Time{}, chunk)) {
    return note(damaged("member_chunk_rows"));
  }
  image->take(std::move(chunk));
  return true;
}

bool PostgresWorkflows::take_page(const SqlRow& row) {
  ImageRows* const image = image_of(row);
  core::FatePage page;
  if (image == nullptr || !decode_value(row.bytes(1), Time{}, page)) {
    return note(damaged("fate_page_rows"));
  }
  image->take(page);
  return true;
}

Result<std::optional<core::WorkflowImage>> PostgresWorkflows::image(const JobId& id,
                                                                    std::uint32_t first,
                                                                    std::uint32_t count) {
  first_ = first;
  count_ = count;
  const std::int64_t end = std::int64_t{first} + count;
  const auto from = [&](std::uint32_t begin) {
    return std::move(Parameters().number(shard_.shard).id(id).number(begin).number(end));
  };
  SqlMessage message({}, Isolation::kSnapshot);
  message.add(kSelectRecord, std::move(Parameters().number(shard_.shard).id(id)),
              [this](const SqlRow& row) { return take_record(row); });
  message.add(kSelectChunks, from(first_chunk_for(first)),
              [this](const SqlRow& row) { return take_chunk(row); });
  message.add(kSelectPages, from(first_page_for(first)),
              [this](const SqlRow& row) { return take_page(row); });
  const auto replies = shard_.pool->run(Use::kLookup, message);
  if (!status_) return std::unexpected(status_.error());
  if (!replies) return to_error(replies.error());
  if (images_.empty()) return std::nullopt;
  auto made = images_.begin()->second.finish();
  if (!made) return std::unexpected(made.error());
  return std::move(*made);
}

void PostgresWorkflows::add_live(SqlMessage& message) {
  const auto for_shard = [&] { return std::move(Parameters().number(shard_.shard)); };
  message.add(kSelectLive, for_shard(), [this](const SqlRow& row) { return take_record(row); });
  message.add(kSelectLiveChunks, for_shard(),
              [this](const SqlRow& row) { return take_chunk(row); });
  message.add(kSelectLivePages, for_shard(), [this](const SqlRow& row) { return take_page(row); });
}

Status PostgresWorkflows::visit_live(StateVisitor& visitor) {
  if (!status_) return status_;
  for (auto& [id, rows] : images_) {
    const auto whole = rows.finish();
    if (!whole) return std::unexpected(whole.error());
    visitor.workflow(*whole);
  }
  return {};
}

Result<std::vector<core::Workflow>> PostgresWorkflows::piece(const WorkflowCursor& place,
                                                             std::int64_t limit) {
  SqlMessage message({});
  message.add(kSelectNewest, std::move(Parameters()
                                           .number(shard_.shard)
                                           .number(to_ms(place.created_at))
                                           .id(place.id)
                                           .number(limit)));
  const auto replies = shard_.pool->run(Use::kReading, message);
  if (!replies) return to_error(replies.error());
  const SqlResult& rows = replies->results.front();
  std::vector<core::Workflow> found;
  for (int row = 0; row < rows.rows(); ++row) {
    if (!decode_with_names(rows.row(row).bytes(0), Time{}, found.emplace_back())) {
      return damaged("workflow_rows");
    }
  }
  return found;
}

Result<WorkflowPage> PostgresWorkflows::list(const WorkflowQuery& query) {
  const auto end = shard_.pool->now() + query.budget.time;
  WorkflowCursor last = list_begin(query);
  WorkflowPage page;
  for (std::int64_t limit = kFirstPiece;; limit = std::min(limit * 2, kLargestPiece)) {
    auto found = piece(last, limit);
    if (!found) return std::unexpected(found.error());
    for (core::Workflow& workflow : *found) {
      if (query.created_after && workflow.created_at < *query.created_after) return page;
      const bool fits = matches(query, workflow);
      if (fits && page.workflows.size() == query.limit) {
        page.next_after = last;
        return page;
      }
      last = place_of(workflow);
      if (fits) page.workflows.push_back(std::move(workflow));
    }
    if (std::ssize(*found) < limit) return page;
    if (query.budget.gone.stop_requested() || shard_.pool->now() >= end) {
      page.next_after = last;
      return page;
    }
  }
}

Result<std::vector<JobId>> PostgresWorkflows::finished_until(const SharedBytes& queue,
                                                             core::State retained_as, Time until,
                                                             std::uint32_t limit) {
  std::vector<JobId> ids;
  const auto state = kept_like(retained_as);
  if (!state) return ids;
  const auto rows = read(kSelectFinished, std::move(Parameters()
                                                        .number(shard_.shard)
                                                        .text(queue.view())
                                                        .text(name_of(*state))
                                                        .number(to_ms(until))
                                                        .number(limit)));
  if (!rows) return std::unexpected(rows.error());
  for (int row = 0; row < rows->rows(); ++row) {
    if (!read_blob(rows->row(row).bytes(0), ids.emplace_back())) return damaged("workflow_rows");
  }
  return ids;
}

Result<std::optional<Time>> PostgresWorkflows::oldest_finished(const SharedBytes& queue,
                                                               core::State retained_as) {
  const auto state = kept_like(retained_as);
  if (!state) return std::nullopt;
  const auto rows =
      read(kSelectOldest,
           std::move(Parameters().number(shard_.shard).text(queue.view()).text(name_of(*state))));
  if (!rows) return std::unexpected(rows.error());
  if (rows->rows() == 0) return std::nullopt;
  return time_from_ms(rows->row(0).number(0));
}

}  // namespace millrace::store
