// A shard's terms, in the order of its journal. Several nodes may believe that they lead the shard,
// and continue to decide; the real leader is the one whose rows are in the journal. The events of a
// term are kept until the term's first row is in the journal, and then reported to the auditor.
// After the next term's first row they are dropped, except answers, which must depend only on
// durable rows.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "core/flow/shares_testing.h"
#include "sim/cluster/database.h"
#include "sim/model/auditor.h"
#include "sim/world/marks.h"
#include "sim/world/storage.h"

namespace millrace::sim {

enum class TermId : std::uint64_t {};

class Chronicle final : public Storage {
 public:
  Chronicle(std::uint32_t shard, Database& database, Marks& marks,
            const core::MachineOptions& options, Limits limits, Effects& effects,
            core::ShareWatch* watch);

  // A node leads from now on, as far as it knows. `first` is its term's first row.
  TermId begin(const store::JournalRow& first, Time now);
  // An event of that term.
  using Note = std::function<void(Auditor&)>;
  void note(TermId term, Note note);
  void answered(TermId term, std::vector<engine::Outgoing> answers);
  // In that term a caller could have been answered at `now`.
  void served(TermId term, Time now);
  // Whether the auditor is in this term now.
  bool is_current(TermId term) const { return current_ && current_->id == term; }

  // Examines new rows of the journal: N1, N2, N5.
  void advance();
  // newest(): the journal's newest row. digest(): of the state after it, made only from the
  // journal's bytes.
  Seq newest() const { return newest_; }
  Fingerprint digest() const { return fold_->digest(); }
  bool created(const JobId& id) const { return created_.contains(id); }

  Auditor& auditor() { return auditor_; }
  std::uint64_t terms() const { return terms_begun_; }

  std::optional<store::JournalRow> row(Seq seq) override;
  Result<std::vector<core::Job>> fetch(const std::vector<JobId>& ids) override;

 private:
  struct Term {
    TermId id{};
    store::Checksum first;
    Seq seq{};
    std::vector<Note> notes;  // until the term is the current one
    std::optional<Time> served;
  };
  void check_chain(const store::JournalRow& row) const;
  void enter(const store::JournalRow& row);
  void fold(const store::JournalRow& row);
  void check_late(const engine::Outgoing& answer) const;

  const std::uint32_t shard_;
  Database& database_;
  core::ShareWatch* const watch_;  // null: limits are not shared
  Auditor auditor_;

  std::uint64_t terms_begun_ = 0;
  std::map<TermId, Term> waiting_;  // terms without a row in the journal
  std::optional<Term> current_;
  std::optional<Time> served_until_;  // in earlier terms

  std::map<Seq, store::JournalRow> rows_;  // all rows that were ever in the journal
  Seq newest_{};
  std::unique_ptr<core::Machine> fold_;
  std::set<JobId> created_;
  std::set<std::uint64_t> granted_;  // tokens
};

}  // namespace millrace::sim
