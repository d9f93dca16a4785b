// Writes documents, limits, operations and the audit during a flush.
#include <string>
#include <utility>

#include "store/blob.h"
#include "store/postgres/postgres_rows.h"
#include "store/postgres/postgres_writer.h"
#include "store/row_codec.h"

namespace millrace::store {
namespace {

constexpr const char* kDeleteCatalog =
    "DELETE FROM millrace.catalog_rows AS old USING unnest($2, $3) AS gone(kind, name) "
    "WHERE old.shard = $1 AND old.kind = gone.kind AND old.name = gone.name";
constexpr const char* kUpsertCatalog =
    "INSERT INTO millrace.catalog_rows(shard, kind, name, detail) "
    "SELECT $1, * FROM unnest($2, $3, $4) "
    "ON CONFLICT (shard, kind, name) DO UPDATE SET detail = excluded.detail";
constexpr const char* kDeleteLimits =
    "DELETE FROM millrace.limit_rows AS old USING unnest($2, $3) AS gone(kind, name) "
    "WHERE old.shard = $1 AND old.kind = gone.kind AND old.name = gone.name";
constexpr const char* kDeleteTheirBuckets =
    "DELETE FROM millrace.bucket_rows AS old USING unnest($2, $3) AS gone(kind, name) "
    "WHERE old.shard = $1 AND old.kind = gone.kind AND old.name = gone.name";
constexpr const char* kUpsertLimits =
    "INSERT INTO millrace.limit_rows(shard, kind, name, detail) "
    "SELECT $1, * FROM unnest($2, $3, $4) "
    "ON CONFLICT (shard, kind, name) DO UPDATE SET detail = excluded.detail";
constexpr const char* kDeleteBuckets =
    "DELETE FROM millrace.bucket_rows AS old USING unnest($2, $3, $4) AS gone(kind, name, key) "
    "WHERE old.shard = $1 AND old.kind = gone.kind AND old.name = gone.name "
    "AND old.key = gone.key";
constexpr const char* kUpsertBuckets =
    "INSERT INTO millrace.bucket_rows(shard, kind, name, key, detail) "
    "SELECT $1, * FROM unnest($2, $3, $4, $5) "
    "ON CONFLICT (shard, kind, name, key) DO UPDATE SET detail = excluded.detail";
constexpr const char* kInsertAudit =
    "INSERT INTO millrace.audit_rows(shard, n, at, hash, detail) "
    "SELECT $1, * FROM unnest($2, $3, $4, $5) ON CONFLICT (shard, n) DO NOTHING";
// The entries' times ascend with their numbers.
constexpr const char* kPruneAudit =
    "DELETE FROM millrace.audit_rows WHERE shard = $1 AND n < coalesce("
    "(SELECT n FROM millrace.audit_rows WHERE shard = $1 AND at >= $2 ORDER BY n LIMIT 1), "
    "(SELECT max(n) FROM millrace.audit_rows WHERE shard = $1))";

constexpr const char* kDeleteOperations =
    "DELETE FROM millrace.operation_rows WHERE shard = $1 AND id = ANY($2)";
constexpr const char* kUpsertOperations =
    "INSERT INTO millrace.operation_rows(shard, id, detail) "
    "SELECT $1, * FROM unnest($2, $3) "
    "ON CONFLICT (shard, id) DO UPDATE SET detail = excluded.detail";

}  // namespace

void PostgresWriter::write_operations(SqlMessage& message, const core::Changes& changes) const {
  const auto for_shard = [&] { return std::move(Parameters().number(shard_->shard)); };
  if (!changes.deleted_operations.empty()) {
    Rows<1> rows({kU});
    for (const JobId& id : changes.deleted_operations) rows[0].bytes(to_blob(id));
    message.add(kDeleteOperations, rows.finish(for_shard()));
  }
  std::string buffer;
  for (auto at = changes.operations.begin(); at != changes.operations.end();) {
    Rows<2> rows({kU, kB});
    for (; at != changes.operations.end() && rows.bytes() < kStatementBytes; ++at) {
      encode_value(*at, Time{}, buffer);
      rows[0].bytes(to_blob(at->id));
      rows[1].bytes(buffer);
    }
    message.add(kUpsertOperations, rows.finish(for_shard()));
  }
}

void PostgresWriter::write_audit(SqlMessage& message, const core::Changes& changes) const {
  const auto for_shard = [&] { return std::move(Parameters().number(shard_->shard)); };
  std::string buffer;
  for (auto at = changes.audit.begin(); at != changes.audit.end();) {
    Rows<4> rows({kN, kN, kB, kB});
    for (; at != changes.audit.end() && rows.bytes() < kStatementBytes; ++at) {
      encode_value(at->entry, at->at, buffer);
      rows[0].number(static_cast<std::int64_t>(at->entry.n));
      rows[1].number(to_ms(at->at));
      rows[2].bytes(to_blob(at->hash));
      rows[3].bytes(buffer);
    }
    message.add(kInsertAudit, rows.finish(for_shard()));
  }
  if (changes.audit_until) {
    message.add(kPruneAudit, std::move(for_shard().number(to_ms(*changes.audit_until))));
  }
}

void PostgresWriter::write_catalog(SqlMessage& message, const core::Changes& changes) const {
  const auto for_shard = [&] { return std::move(Parameters().number(shard_->shard)); };
  if (!changes.deleted_catalog.empty()) {
    Rows<2> rows({kN, kT});
    for (const core::CatalogKey& key : changes.deleted_catalog) {
      rows[0].number(static_cast<std::int64_t>(key.kind));
      rows[1].bytes(key.name.view());
    }
    message.add(kDeleteCatalog, rows.finish(for_shard()));
  }
  std::string buffer;
  for (auto at = changes.catalog.begin(); at != changes.catalog.end();) {
    Rows<3> rows({kN, kT, kB});
    for (; at != changes.catalog.end() && rows.bytes() < kStatementBytes; ++at) {
      encode_value(*at, Time{}, buffer);
      rows[0].number(static_cast<std::int64_t>(at->kind));
      rows[1].bytes(at->name.view());
      rows[2].bytes(buffer);
    }
    message.add(kUpsertCatalog, rows.finish(for_shard()));
  }
}

void PostgresWriter::write_limits(SqlMessage& message, const core::Changes& changes) const {
  const auto for_shard = [&] { return std::move(Parameters().number(shard_->shard)); };
  for (const char* const statement : {kDeleteLimits, kDeleteTheirBuckets}) {
    if (changes.deleted_limits.empty()) break;
    Rows<2> rows({kN, kT});
    for (const auto& gone : changes.deleted_limits) {
      rows[0].number(static_cast<std::int64_t>(gone.kind));
      rows[1].bytes(gone.name.view());
    }
    message.add(statement, rows.finish(for_shard()));
  }
  std::string buffer;
  for (auto at = changes.limits.begin(); at != changes.limits.end();) {
    Rows<3> rows({kN, kT, kB});
    for (; at != changes.limits.end() && rows.bytes() < kStatementBytes; ++at) {
      encode_value(*at, Time{}, buffer);
      rows[0].number(static_cast<std::int64_t>(at->kind));
      rows[1].bytes(at->name.view());
      rows[2].bytes(buffer);
    }
    message.add(kUpsertLimits, rows.finish(for_shard()));
  }
  Rows<3> full({kN, kT, kB});
  bool any_full = false;
  for (const core::BucketRow& row : changes.buckets) {
    if (!row.is_idle()) continue;
    any_full = true;
    full[0].number(static_cast<std::int64_t>(row.kind));
    full[1].bytes(row.name.view());
    full[2].bytes(row.key.view());
  }
  if (any_full) message.add(kDeleteBuckets, full.finish(for_shard()));
  for (auto at = changes.buckets.begin(); at != changes.buckets.end();) {
    Rows<4> rows({kN, kT, kB, kB});
    bool any = false;
    for (; at != changes.buckets.end() && rows.bytes() < kStatementBytes; ++at) {
      if (at->is_idle()) continue;
      any = true;
      encode_value(*at, Time{}, buffer);
      rows[0].number(static_cast<std::int64_t>(at->kind));
      rows[1].bytes(at->name.view());
      rows[2].bytes(at->key.view());
      rows[3].bytes(buffer);
    }
    if (any) message.add(kUpsertBuckets, rows.finish(for_shard()));
  }
}

}  // namespace millrace::store
