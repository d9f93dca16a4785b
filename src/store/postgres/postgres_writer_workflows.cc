// Writes workflows during a flush.
#include <optional>
#include <string>
#include <utility>

#include "store/postgres/postgres_rows.h"
#include "store/postgres/postgres_writer.h"
#include "store/row_codec.h"
#include "store/workflow_rows.h"

namespace millrace::store {
namespace {

constexpr const char* kDelete[] = {
    "DELETE FROM millrace.workflow_rows WHERE shard = $1 AND id = ANY($2)",
    "DELETE FROM millrace.member_chunk_rows WHERE shard = $1 AND workflow = ANY($2)",
    "DELETE FROM millrace.fate_page_rows WHERE shard = $1 AND workflow = ANY($2)"};
constexpr const char* kUpsertRecords =
    "INSERT INTO millrace.workflow_rows(shard, id, queue, state, created_at, over_at, may_change, "
    "detail) SELECT $1, w.id, w.queue, w.state, w.created_at, w.over_at, w.may_change <> 0, "
    "w.detail FROM unnest($2, $3, $4, $5, $6, $7, $8) "
    "AS w(id, queue, state, created_at, over_at, may_change, detail) "
    "ON CONFLICT (shard, id) DO UPDATE SET state = excluded.state, over_at = excluded.over_at, "
    "may_change = excluded.may_change, detail = excluded.detail";
constexpr const char* kUpsertChunks =
    "INSERT INTO millrace.member_chunk_rows(shard, workflow, first, chunk) "
    "SELECT $1, * FROM unnest($2, $3, $4) "
    "ON CONFLICT (shard, workflow, first) DO UPDATE SET chunk = excluded.chunk";
constexpr const char* kUpsertPages =
    "INSERT INTO millrace.fate_page_rows(shard, workflow, first, page) "
    "SELECT $1, * FROM unnest($2, $3, $4) "
    "ON CONFLICT (shard, workflow, first) DO UPDATE SET page = excluded.page";

constexpr const char* kInsertJobs =
    "INSERT INTO millrace.workflow_job_rows(shard, ord, workflow) SELECT $1, * FROM unnest($2, $3) "
    "ON CONFLICT DO NOTHING";

void encode(const core::MemberChunk& chunk, std::string& out) {
  encode_with_names(chunk, Time{}, out);
}
void encode(const core::FatePage& page, std::string& out) { encode_value(page, Time{}, out); }

template <typename Row>
void write_parts(SqlMessage& message, std::int64_t shard, const char* sql,
                 const std::vector<Row>& parts) {
  std::string buffer;
  for (auto at = parts.begin(); at != parts.end();) {
    Rows<3> rows({kU, kN, kB});
    for (; at != parts.end() && rows.bytes() < kStatementBytes; ++at) {
      encode(*at, buffer);
      rows[0].id(at->workflow);
      rows[1].number(std::int64_t{at->first});
      rows[2].bytes(buffer);
    }
    message.add(sql, rows.finish(std::move(Parameters().number(shard))));
  }
}

}  // namespace

void PostgresWriter::write_workflows(SqlMessage& message, const core::Changes& changes) const {
  const auto for_shard = [&] { return std::move(Parameters().number(shard_->shard)); };
  for (const char* const statement : kDelete) {
    if (changes.deleted_workflows.empty()) break;
    Rows<1> rows({kU});
    for (const JobId& id : changes.deleted_workflows) rows[0].id(id);
    message.add(statement, rows.finish(for_shard()));
  }
  Rows<2> jobs({kN, kU});
  bool any = false;
  for (const core::Job& job : changes.jobs) {
    if (job.extras == nullptr || job.extras->member == nullptr) continue;
    any = true;
    jobs[0].number(static_cast<std::int64_t>(job.ord));
    jobs[1].id(job.extras->member->workflow);
  }
  if (any) message.add(kInsertJobs, jobs.finish(for_shard()));
  std::string buffer;
  for (auto at = changes.workflows.begin(); at != changes.workflows.end();) {
    Rows<7> rows({kU, kT, kT, kN, kN, kN, kB});
    for (; at != changes.workflows.end() && rows.bytes() < kStatementBytes; ++at) {
      const auto over = over_since(*at);
      encode_with_names(*at, Time{}, buffer);
      rows[0].id(at->id);
      rows[1].bytes(at->spec.queue.view());
      rows[2].bytes(name_of(at->state));
      rows[3].number(to_ms(at->created_at));
      rows[4].number(over ? std::optional(to_ms(*over)) : std::nullopt);
      rows[5].number(std::int64_t{core::may_change(*at)});
      rows[6].bytes(buffer);
    }
    message.add(kUpsertRecords, rows.finish(for_shard()));
  }
  write_parts(message, shard_->shard, kUpsertChunks, changes.member_chunks);
  write_parts(message, shard_->shard, kUpsertPages, changes.fate_pages);
}

}  // namespace millrace::store
