#include "sim/cluster/views.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/check.h"
#include "store/journal_check.h"

namespace millrace::sim {
namespace {

using Read = View::Read;

class JournalView final : public store::Journal {
 public:
  explicit JournalView(View view) : view_(std::move(view)) {}

  store::AppendResult append(const store::JournalRow& row) override {
    return view_.journal().append(row);
  }
  Status read(Seq from, const std::function<bool(const store::JournalRow&)>& visit) override {
    if (auto fault = view_.fault(Read::kState)) return std::unexpected(*fault);
    // The memory store treats every journal as that of its only shard.
    store::MemoryJournal& journal = view_.journal();
    const Result<Extent> extent = journal.extent();
    if (Status checked = store::check_range(view_.shard, from, *extent); !checked) return checked;
    store::ChainCheck chain(view_.shard, std::max(from, Seq{1}));
    while (const auto row = journal.row(chain.expected())) {
      if (Status checked = chain.check(*row); !checked) return checked;
      if (!is_readable(*row)) {
        return failure("events of a format that this version does not read");
      }
      if (!visit(*row)) break;
    }
    return {};
  }
  Result<Extent> extent() override {
    if (auto fault = view_.fault(Read::kState)) return std::unexpected(*fault);
    return view_.journal().extent();
  }
  Result<std::uint64_t> trim(Seq below) override { return view_.journal().trim(below); }

 private:
  // Imitates a program that knows no newer format; this one knows all of them.
  bool is_readable(const store::JournalRow& row) const {
    if (view_.reads >= kNewestFormat) return true;
    const auto batch = store::decode_events(row.body);
    return !batch || static_cast<std::uint32_t>(store::format_of(*batch)) <= view_.reads;
  }

  const View view_;
};

class TablesView final : public store::Tables {
 public:
  explicit TablesView(View view) : view_(std::move(view)) {}

  Status flush(const core::Changes& changes, store::FlushBase since,
               const store::Progress& to) override {
    return tables().flush(changes, since, to);
  }
  Result<Seq> sync() override { return tables().sync(); }
  Status load(store::StateVisitor& visitor) override {
    if (auto fault = view_.fault(Read::kState)) return std::unexpected(*fault);
    return tables().load(visitor);
  }
  Result<store::Progress> progress() override {
    if (auto fault = view_.fault(Read::kState)) return std::unexpected(*fault);
    return tables().progress();
  }
  Result<std::vector<core::Job>> fetch(const std::vector<JobId>& ids) override {
    if (auto fault = view_.fault(Read::kJobs)) return std::unexpected(*fault);
    return tables().fetch(ids);
  }
  Result<store::JobHistory> history(const JobId& id, const store::HistoryParts& parts) override {
    return tables().history(id, parts);
  }
  Result<store::JobPage> list(const store::JobQuery& query) override {
    return tables().list(query);
  }
  Result<IdPage> select_ids(const core::JobFilter& filter, std::optional<std::uint64_t> after,
                            std::uint32_t limit, store::ReadBudget budget) override {
    return tables().select_ids(filter, after, limit, budget);
  }
  Result<std::uint64_t> count(const core::JobFilter& filter, std::uint64_t limit,
                              store::ReadBudget budget) override {
    return tables().count(filter, limit, budget);
  }
  Result<std::vector<JobId>> finished_until(const SharedBytes& queue, core::State state, Time until,
                                            std::uint32_t limit) override {
    if (auto fault = view_.fault(Read::kJobs)) return std::unexpected(*fault);
    return tables().finished_until(queue, state, until, limit);
  }
  Result<std::optional<Time>> oldest_finished(const SharedBytes& queue,
                                              core::State state) override {
    if (auto fault = view_.fault(Read::kJobs)) return std::unexpected(*fault);
    return tables().oldest_finished(queue, state);
  }
  Result<std::optional<core::WorkflowImage>> workflow(const JobId& id, std::uint32_t first,
                                                      std::uint32_t count) override {
    if (auto fault = view_.fault(Read::kJobs)) return std::unexpected(*fault);
    return tables().workflow(id, first, count);
  }
  Result<store::WorkflowPage> list_workflows(const store::WorkflowQuery& query) override {
    if (auto fault = view_.fault(Read::kJobs)) return std::unexpected(*fault);
    return tables().list_workflows(query);
  }
  Result<std::vector<JobId>> finished_workflows_until(const SharedBytes& queue,
                                                      core::State retained_as, Time until,
                                                      std::uint32_t limit) override {
    if (auto fault = view_.fault(Read::kJobs)) return std::unexpected(*fault);
    return tables().finished_workflows_until(queue, retained_as, until, limit);
  }
  Result<std::optional<Time>> oldest_finished_workflow(const SharedBytes& queue,
                                                       core::State retained_as) override {
    if (auto fault = view_.fault(Read::kJobs)) return std::unexpected(*fault);
    return tables().oldest_finished_workflow(queue, retained_as);
  }
  Result<std::vector<core::ScheduleRunRow>> schedule_runs(const SharedBytes& schedule) override {
    return tables().schedule_runs(schedule);
  }
  Result<std::vector<core::AuditRow>> audit(const store::AuditQuery& query) override {
    return tables().audit(query);
  }
  Result<bool> put_blobs(const std::vector<store::NamedBlob>& blobs,
                         const store::NamedBlob& guard) override {
    return tables().put_blobs(blobs, guard);
  }
  Result<std::vector<store::NamedBlob>> get_blobs(const std::string& first,
                                                  const std::string& end) override {
    return tables().get_blobs(first, end);
  }
  store::Fences* fences() override { return view_.fences; }

 private:
  store::MemoryTables& tables() { return view_.tables(); }

  const View view_;
};

}  // namespace

store::Store open_view(View view) {
  MILLRACE_CHECK(view.journal && view.tables && view.fault);
  auto journal = std::make_unique<JournalView>(view);
  return {"simulated", std::move(journal), std::make_unique<TablesView>(std::move(view)), nullptr};
}

}  // namespace millrace::sim
