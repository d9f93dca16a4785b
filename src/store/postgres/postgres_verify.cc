#include "store/postgres/postgres_verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "store/audit_check.h"
#include "store/event_codec.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/schema.h"
#include "store/workflow_rows.h"

namespace millrace::store {
namespace {

// More would not be useful.
constexpr std::size_t kMostProblems = 100;
constexpr const char* kSelectOrphans =
    "SELECT c.shard::bigint, 'member_chunk_rows', c.workflow::text "
    "FROM millrace.member_chunk_rows AS c WHERE NOT EXISTS (SELECT FROM millrace.workflow_rows "
    "AS w WHERE w.shard = c.shard AND w.id = c.workflow) "
    "UNION SELECT p.shard::bigint, 'fate_page_rows', p.workflow::text "
    "FROM millrace.fate_page_rows AS p WHERE NOT EXISTS (SELECT FROM millrace.workflow_rows AS w "
    "WHERE w.shard = p.shard AND w.id = p.workflow) LIMIT 100";
// If a server trims the journal during the reading, it starts again after the trimmed rows.
constexpr int kMostReadings = 10;

// Loading decodes every row. Only the progress matters here.
class KeepProgress final : public StateVisitor {
 public:
  void progress(const Progress& progress) override { progress_ = progress; }
  void queue(const core::Queue&) override {}
  void job(const core::Job&) override {}
  void key(const core::KeyRow&) override {}
  void held_unique(const core::HeldUnique&) override {}
  void ended_lease(const core::EndedLease&) override {}
  void schedule(const core::Schedule&) override {}
  void limit(const core::Limit&) override {}
  void bucket(const core::BucketRow&) override {}
  void catalog_entry(const core::CatalogEntry&) override {}
  void operation(const core::OperationPart&) override {}
  void audited(const core::AuditRow&) override {}
  void workflow(const core::WorkflowImage&) override {}

  const Progress& kept() const { return progress_; }

 private:
  Progress progress_;
};

class ShardVerifier {
 public:
  ShardVerifier(std::uint32_t shard, Store store, std::vector<std::string>& problems)
      : shard_(shard), store_(std::move(store)), problems_(problems) {}

  ShardFindings run() {
    examine_state();
    examine_journal();
    examine_jobs();
    examine_audit();
    examine_workflows();
    return findings_;
  }

 private:
  void report(std::string_view problem) {
    std::string sentence = fmt::format("shard {}: {}", shard_, problem);
    // A waiting job's row is read twice.
    if (problems_.size() >= kMostProblems ||
        std::ranges::find(problems_, sentence) != problems_.end())
      return;
    problems_.push_back(std::move(sentence));
  }

  // The journal must have every row that the tables lack. Servers trim rows that the tables have,
  // so the extent is read first.
  void examine_state() {
    const auto extent = store_.journal->extent();
    if (!extent) return report(extent.error().message);
    KeepProgress visitor;
    if (const Status loaded = store_.tables->load(visitor); !loaded) {
      return report(loaded.error().message);
    }
    progress_ = visitor.kept();
    findings_.projected = progress_->seq;
    if (extent->newest != Seq{} && next(progress_->seq) < extent->oldest) {
      report(fmt::format("the tables end at row {}, but the journal begins at row {}",
                         to_number(progress_->seq), to_number(extent->oldest)));
    }
  }

  void examine_journal() {
    for (int reading = 0; reading < kMostReadings; ++reading) {
      const auto extent = store_.journal->extent();
      if (!extent) return report(extent.error().message);
      findings_.rows = findings_.events = 0;
      findings_.oldest = extent->oldest;
      findings_.newest = extent->newest;
      if (progress_ && progress_->seq > extent->newest) {
        report(fmt::format("the tables include row {}, but the journal ends at row {}",
                           to_number(progress_->seq), to_number(extent->newest)));
      }
      if (extent->newest == Seq{}) return;
      std::vector<std::string> found;
      const Status read = store_.journal->read(extent->oldest, [&](const JournalRow& row) {
        if (auto problem = examine_row(row)) found.push_back(std::move(*problem));
        return row.seq < extent->newest && found.size() < kMostProblems;
      });
      const auto after = store_.journal->extent();
      if (!read && after && after->oldest > extent->oldest) continue;
      if (!read) found.push_back(read.error().message);
      for (const std::string& problem : found) report(problem);
      return;
    }
    report("the journal is trimmed faster than it is read; check again at a quieter time");
  }

  std::optional<std::string> examine_row(const JournalRow& row) {
    ++findings_.rows;
    if (progress_ && row.seq == progress_->seq && row.checksum != progress_->checksum) {
      return fmt::format("the tables include another row {} than the journal", to_number(row.seq));
    }
    const auto batch = decode_events(row.body);
    if (!batch) {
      return fmt::format("journal: row {}: {}", to_number(row.seq), batch.error().message);
    }
    findings_.events += batch->events.size();
    return std::nullopt;
  }

  void examine_jobs() {
    JobQuery query;
    query.limit = 1'000;
    query.columns = {.payload = true, .result = true};
    do {
      const auto page = store_.tables->list(query);
      if (!page) return report(page.error().message);
      findings_.jobs += page->jobs.size();
      query.after_ord = page->next_after_ord;
    } while (query.after_ord);
  }

  void examine_audit() {
    AuditCheck check;
    AuditQuery query;
    query.oldest_first = true;
    while (true) {
      const auto page = store_.tables->audit(query);
      if (!page) return report(page.error().message);
      for (const core::AuditRow& row : *page) {
        if (query.after && row.entry.n <= *query.after) {
          return report(fmt::format("audit: entry {} is out of its place", row.entry.n));
        }
        if (const auto problem = check.check(row)) report(*problem);
        query.after = row.entry.n;
      }
      findings_.audit_entries = check.entries();
      if (page->size() < query.limit) return;
    }
  }

  // The members and fates of each workflow, whose counts they must give.
  void examine_workflows() {
    WorkflowQuery query;
    query.limit = 1'000;
    do {
      const auto page = store_.tables->list_workflows(query);
      if (!page) return report(page.error().message);
      for (const core::Workflow& workflow : page->workflows) {
        const auto whole =
            store_.tables->workflow(workflow.id, 0, std::numeric_limits<std::uint32_t>::max());
        if (!whole) {
          report(whole.error().message);
        } else if (*whole && !counts_agree(**whole)) {
          report(wrong_counts(workflow.id));
        }
      }
      query.after = page->next_after;
    } while (query.after);
  }

  const std::uint32_t shard_;
  const Store store_;
  std::vector<std::string>& problems_;
  ShardFindings findings_;
  std::optional<Progress> progress_;  // absent: the tables can't be read
};

// Rows of members and fates whose workflow is missing.
void examine_orphans(ConnectionPool& pool, std::vector<std::string>& problems) {
  SqlMessage message({.statement = std::chrono::milliseconds{0}});
  message.add(kSelectOrphans);
  const auto replies = pool.run(ConnectionPool::Use::kReading, message);
  if (!replies) return problems.push_back(replies.error().message);
  const SqlResult& rows = replies->results.front();
  for (int row = 0; row < rows.rows() && problems.size() < kMostProblems; ++row) {
    const SqlRow found = rows.row(row);
    problems.push_back(fmt::format("shard {}: {}: row {}: there is no such workflow",
                                   found.number(0), found.bytes(1), found.bytes(2)));
  }
}

// The schema of this very program: opening it then changes nothing.
Status check_is_current(const std::string& url, const SteadyNow& now) {
  const auto node = PostgresNode::look({.url = url, .clock = now, .allow_unsafe = true});
  if (!node) return std::unexpected(node.error());
  const auto state = read_schema((*node)->pool());
  if (!state) return std::unexpected(state.error());
  if (state->applied == 0) return failure("the database has no schema millrace");
  if (state->applied < newest_schema()) {
    return failure(fmt::format(
        "the database has version {} of the schema, and this program checks version {}; "
        "run `millrace admin migrate up` first",
        state->applied, newest_schema()));
  }
  return check_schema(*state);
}

}  // namespace

Result<DatabaseFindings> verify_postgres(const std::string& url, const SteadyNow& now) {
  if (const Status current = check_is_current(url, now); !current) {
    return std::unexpected(current.error());
  }
  const auto node = PostgresNode::open({.url = url, .clock = now, .allow_unsafe = true});
  if (!node) return std::unexpected(node.error());
  DatabaseFindings findings;
  for (std::uint32_t shard = 0; shard < (*node)->shards(); ++shard) {
    auto store = (*node)->open_shard(shard);
    if (!store) return std::unexpected(store.error());
    findings.store_id = store->id;
    findings.shards.push_back(ShardVerifier(shard, std::move(*store), findings.problems).run());
  }
  examine_orphans((*node)->pool(), findings.problems);
  return findings;
}

}  // namespace millrace::store
