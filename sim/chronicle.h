// A shard's terms, in the order of its journal. Several nodes may believe that they lead it, and go
// on deciding; whose rows stand in the journal led. What happens in a term is told to the auditor
// when the term's first row stands there: until then it is kept, and after the next term's first
// row it is dropped, but for answers, which must rest on what was durable.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "sim/auditor.h"
#include "sim/database.h"
#include "sim/marks.h"
#include "sim/storage.h"

namespace millrace::sim {

enum class TermId : std::uint64_t {};

class Chronicle final : public Storage {
 public:
  Chronicle(std::uint32_t shard, Database& database, Marks& marks,
            const core::MachineOptions& options, Limits limits, Effects& effects);

  // A node leads from now on, as far as it knows; `first` is the row that begins its term.
  TermId begin(const store::JournalRow& first, Time now);
  // It happened in that term.
  using Note = std::function<void(Auditor&)>;
  void note(TermId term, Note note);
  void answered(TermId term, std::vector<engine::Outgoing> answers);
  // In that term somebody could have been answered at `now`.
  void served(TermId term, Time now);
  // The auditor stands in this term now.
  bool is_current(TermId term) const { return current_ && current_->id == term; }

  // Looks at what has been added to the journal: N1, N2, N5.
  void advance();
  // The state after the journal's newest row, made from its bytes alone.
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
    std::vector<Note> notes;  // until it is the current one
    std::optional<Time> served;
  };
  void check_chain(const store::JournalRow& row) const;
  void enter(const store::JournalRow& row);
  void fold(const store::JournalRow& row);
  void check_late(const engine::Outgoing& answer) const;

  const std::uint32_t shard_;
  Database& database_;
  Auditor auditor_;

  std::uint64_t terms_begun_ = 0;
  std::map<TermId, Term> waiting_;  // nothing of them stands in the journal
  std::optional<Term> current_;
  std::optional<Time> served_until_;  // in the terms before

  std::map<Seq, store::JournalRow> rows_;  // all that ever stood in the journal
  Seq newest_{};
  std::unique_ptr<core::Machine> fold_;
  std::set<JobId> created_;
  std::set<std::uint64_t> granted_;  // tokens
};

}  // namespace millrace::sim
