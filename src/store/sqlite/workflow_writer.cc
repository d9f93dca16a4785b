#include "store/sqlite/workflow_writer.h"

#include <optional>

#include "store/blob.h"
#include "store/row_codec.h"
#include "store/workflow_rows.h"

namespace millrace::store {
namespace {

constexpr const char* kDeleteRecord = "DELETE FROM workflows WHERE id = ?1";
constexpr const char* kDeleteChunks = "DELETE FROM member_chunks WHERE workflow = ?1";
constexpr const char* kDeletePages = "DELETE FROM fate_pages WHERE workflow = ?1";
constexpr const char* kUpsertRecord =
    "INSERT INTO workflows VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO UPDATE SET "
    "state = excluded.state, over_at = excluded.over_at, may_change = excluded.may_change, "
    "detail = excluded.detail";
constexpr const char* kUpsertChunk =
    "INSERT INTO member_chunks VALUES (?1, ?2, ?3) "
    "ON CONFLICT DO UPDATE SET chunk = excluded.chunk";
constexpr const char* kUpsertPage =
    "INSERT INTO fate_pages VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET page = excluded.page";

}  // namespace

WorkflowWriter::WorkflowWriter(Database& database)
    : database_(database),
      delete_record_(database, kDeleteRecord),
      delete_chunks_(database, kDeleteChunks),
      delete_pages_(database, kDeletePages),
      upsert_record_(database, kUpsertRecord),
      upsert_chunk_(database, kUpsertChunk),
      upsert_page_(database, kUpsertPage) {}

bool WorkflowWriter::put(const core::Workflow& workflow) {
  encode_with_names(workflow, Time{}, buffer_);
  const auto over = over_since(workflow);
  return upsert_record_.run(Blob{to_blob(workflow.id)}, workflow.spec.queue.view(),
                            static_cast<int>(workflow.state), to_ms(workflow.created_at),
                            over ? std::optional(to_ms(*over)) : std::nullopt,
                            int{core::may_change(workflow)}, Blob{buffer_});
}

Status WorkflowWriter::write(const core::Changes& changes) {
  const auto failed = [&] { return database_.failure("write"); };
  for (const JobId& id : changes.deleted_workflows) {
    const Blob key{to_blob(id)};
    if (!delete_record_.run(key) || !delete_chunks_.run(key) || !delete_pages_.run(key)) {
      return failed();
    }
  }
  for (const core::Workflow& workflow : changes.workflows) {
    if (!put(workflow)) return failed();
  }
  for (const core::MemberChunk& chunk : changes.member_chunks) {
    encode_with_names(chunk, Time{}, buffer_);
    if (!upsert_chunk_.run(Blob{to_blob(chunk.workflow)}, chunk.first, Blob{buffer_})) {
      return failed();
    }
  }
  for (const core::FatePage& page : changes.fate_pages) {
    encode_value(page, Time{}, buffer_);
    if (!upsert_page_.run(Blob{to_blob(page.workflow)}, page.first, Blob{buffer_})) return failed();
  }
  return {};
}

}  // namespace millrace::store
