// Watches a life. It records each request and when it was decided, follows each batch with its
// model once the batch is durable, and checks every answer against the model. Any mismatch ends the
// run with the id of the broken promise.
//
// It predicts answers only from durable batches. So an answer that leaves before its batch is
// durable has no prediction, which checks DU1.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "engine/request.h"
#include "engine/shard/shard.h"
#include "sim/cluster/place.h"
#include "sim/model/auditor_types.h"
#include "sim/model/catalog.h"
#include "sim/model/model.h"
#include "sim/model/operations.h"
#include "sim/model/schedules.h"
#include "sim/world/marks.h"
#include "sim/world/storage.h"

namespace millrace::sim {

class Auditor : private AuditorTypes {
 public:
  Auditor(Marks& marks, Storage& stored, core::MachineOptions options, Limits limits,
          Place place = {});

  // --- Events of the world, reported as they happen.
  // `round`: for an inbox row that submits jobs (engine/shard/inbox_order.h); 0: any other request.
  void offered(Ticket ticket, engine::Request request, By by = By::kClient,
               std::uint64_t round = 0);
  void cancelled(Ticket ticket);
  // The shard decided at `now`, and sealed `row`, or none. `head`: the newest row then.
  void decided(Time now, const Wall& wall, std::optional<Seq> row, Seq head, Closing closing,
               bool reads_failed);
  // All waits end now; no new ones begin.
  void waits_ended(Seq head);
  // A life began with this row.
  void started(Time now, Seq row, Epoch epoch);
  // No request could be answered in between.
  void stalled(Time from, Time to);
  void durable(Seq seq, const core::EventBatch& batch);
  void answered(std::vector<engine::Outgoing> answers);
  // The shard has ended for good and tells all callers.
  void gave_up(const std::vector<engine::Outgoing>& answers);
  // The reason for which the shard may now refuse undecided requests; none: it must not.
  void may_refuse(std::optional<engine::Unavailable> why) { may_refuse_ = why; }
  // A step met a failed read: only its answers tell how that was handled.
  bool needs_answers() const;

  // --- Checks.
  // Follows everything that is durable. All answers received so far must match.
  void follow(Seq durable);
  // The life is over; `head` is the newest row that its successor finds.
  void ended(Seq head);
  // No undurable decision exists: the machine must equal the model in every member.
  void compare(const core::Machine& machine);
  // The digest of the state after the newest durable row, computed only from the journal's bytes.
  Fingerprint folded_digest() const { return fold_->digest(); }
  Seq folded() const { return followed_; }

  const Model& model() const { return model_; }
  const Schedules& schedules() const { return schedules_; }
  const ModelOperations& operations() const { return operations_; }
  std::uint64_t commands() const { return commands_; }
  std::size_t waiting() const { return parked_.size(); }

 private:
  std::optional<Boxing> put_in_outbox(const core::AckItem& ack, const Choices& choices) const;
  core::Rejection follow_ack(const core::AckItem& ack, const Choices& choices,
                             std::optional<bool> admitted);

  // --- auditor_inbox.cc: jobs submitted by inbox rows
  void note_put_off(Ticket ticket, const engine::Request& request);
  bool follows_one_put_off(Ticket ticket, const engine::Request& request);

  // auditor_schedules.cc
  std::set<std::string, std::less<>> told_schedules(const Step& step) const;
  bool follow_schedule_command(Ticket ticket, const core::Command& command);
  bool admits_schedule(Ticket ticket, const SharedBytes& name);
  void expect_schedule(Ticket ticket, const Schedules::Said& said, const SharedBytes& name);
  void expect_schedules(Ticket ticket, const core::GetSchedules& command);
  void check_runs(const core::ScheduleReply& reply, const ModelSchedule& schedule) const;
  void compare_schedules(const core::Machine& machine) const;

  // auditor_limits.cc
  bool follow_limit_command(Ticket ticket, const core::Command& command);
  void expect_limit(Ticket ticket, core::Rejection why, const core::Limit* limit);
  void expect_why(Ticket ticket, const core::GetWhy& command);
  void check_blocked_by(const core::GetQueues& command, const core::QueueReply& reply) const;
  void check_fair_keys(Ticket ticket, const core::GetShares& command);
  void check_nobody_waits();

  // auditor_catalog.cc, auditor_payloads.cc
  bool follow_catalog_command(Ticket ticket, const core::Command& command);
  // auditor_operations.cc
  bool follow_operation_command(Ticket ticket, const core::Command& command,
                                const Choices& choices);
  core::Job whole(const core::Job& is, const core::Job& should_be) const;
  void check_payloads_gone();

  // --- auditor.cc
  void fold(Seq seq);
  void follow_dead_row(Seq seq);
  void keep_ghosts();
  void follow_entry(const Entry& entry);
  void follow_step(const Step& step);
  void follow_start(const Start& start);
  void follow_gone(const Gone& gone);
  void follow_waits_ended();
  Duration counted(const Model::Lease& lease) const;
  void follow_task(const Step& step, Ticket ticket, const Choices& choices);
  static bool is_too_new(const engine::Request& request);
  bool was_refused_whole(const Step& step, Ticket ticket, const engine::Request& request);
  std::vector<Ticket> who_asked_for(const core::Claimed& event);
  void serve_waiting(const Choices& choices);
  void tell_cancelled(const core::EventBatch& batch);
  void end_watches();
  void end_waits();
  void sort_out_strays();
  bool waits(Ticket ticket) const;  // followed, but not answered yet

  // --- auditor_answers.cc: the expected answer of each request
  void follow_command(Ticket ticket, const core::Command& command, const Choices& choices);
  void expect(Ticket ticket, const core::Enqueue& command, const Choices& choices);
  void check_verdicts(const core::EnqueueReply& reply, const core::Enqueue& command,
                      const std::vector<Verdict>& verdicts, bool refused_as_one) const;
  std::vector<Item> follow_operator(Ticket ticket, const core::Command& command,
                                    const Choices& choices);
  std::vector<Item> follow_retry(Ticket ticket, const core::Retry& retry, const Choices& choices);
  bool follow_queue_command(Ticket ticket, const core::Command& command, const Choices& choices);
  void check_refused_key(const core::Refusal& refusal, const core::JobSpec& spec);
  void check_shown(const core::EnqueueReply* reply, std::size_t i, const Verdict& verdict) const;
  bool admits_queue(Ticket ticket, const SharedBytes& queue, const Choices& choices) const;
  // One queue, or at most `limit` (0: all) after `after`.
  void expect_queues(Ticket ticket, core::Rejection why, const SharedBytes& queue,
                     std::string_view after = {}, std::size_t limit = 0,
                     const core::GetQueues* asked = nullptr);
  void expect_job(Ticket ticket, const JobId& id);
  void expect_items(Ticket ticket, const std::vector<Item>& items);
  std::vector<Item> follow_acks(Ticket ticket, const core::Ack& command, const Choices& choices);
  std::vector<Item> follow_finishes(const core::Ack& command, const Choices& choices);
  const core::ItemsReply* items_in_answer(Ticket ticket) const;
  std::vector<Item> follow_heartbeats(const core::Heartbeat& command);
  std::vector<Item> follow_logs(const core::AppendLogs& command);
  void follow_claim(Ticket ticket, const core::Claim& claim, Duration wait, Closing closing,
                    const Choices& choices);
  void follow_poll(Ticket ticket, const engine::Poll& poll, Closing closing,
                   const Choices& choices);
  void check_items(const std::vector<Item>& expected, const core::ItemsReply& actual,
                   const char* what) const;
  void check_claim(const core::ClaimReply& reply, const std::vector<JobId>& ids) const;
  void check_parked(const Parked& parked, const std::vector<JobId>& ids);
  void check_orders(const engine::PollReply& reply) const;
  void check_job(const core::JobReply& reply, const JobId& id, const char* what);
  std::vector<JobId> model_claim(const core::Claim& claim, const Choices& choices);
  Item item_of(const JobId& id, core::Rejection why) const;
  void show_job(Item& item, core::Detail detail) const;

  const engine::Answer* answer_of(Ticket ticket);  // null: unknown, the caller's server died
  template <typename T>
  const T* reply_of(Ticket ticket, const char* what);

  Marks& marks_;
  Storage& stored_;
  const core::MachineOptions options_;
  const Limits limits_;
  const Place place_;
  Model model_;
  Schedules schedules_;
  ModelCatalog catalog_;
  ModelOperations operations_;
  std::unique_ptr<core::Machine> fold_;
  Seq followed_{};
  std::uint64_t rows_folded_ = 0;

  std::map<Ticket, engine::Request> requests_;  // not settled yet
  std::vector<Ticket> undecided_;
  std::set<Ticket> of_relays_;
  std::map<Ticket, std::uint64_t> rounds_;  // of the inbox rows that submit
  std::map<std::pair<std::string, std::uint64_t>, Ticket>
      put_off_;  // by queue and round: the first row that was put off
  std::deque<Entry> entries_;
  std::vector<Ghost> ghosts_;
  Epoch epoch_{};
  std::map<Seq, core::EventBatch> batches_;  // durable, but not followed yet
  std::map<Ticket, engine::Answer> answers_;
  std::map<std::uint64_t, Ticket> claimed_by_;  // by token, of the answers
  engine::Answer kept_;                         // the last answer examined
  bool answers_known_ = true;                   // false while a dead life is followed to its end
  bool waits_are_over_ = false;                 // in this life
  std::optional<engine::Unavailable> may_refuse_;
  std::uint64_t commands_ = 0;

  // --- State of the current life.
  std::vector<Parked> parked_;  // in order of arrival
  std::vector<Watch> watches_;
  std::set<Ticket> tells_later_;  // answered between steps: projection and event waits
  std::set<std::pair<JobId, std::uint64_t>> cancel_orders_;
  std::size_t next_claim_ = 0;                       // in the current batch
  std::map<JobId, std::uint32_t> retries_followed_;  // in the current batch
  std::uint64_t term_first_token_ = 0;
  std::set<Ticket> given_up_;  // refused after they were decided: their wait outlasted the storage
  std::vector<std::pair<Time, Time>> stalls_;
  mutable std::vector<std::pair<JobId, std::uint64_t>> payloads_gone_;  // noted by checks
};

}  // namespace millrace::sim
