// Judges what a server shows about itself. Pure: the caller has collected the facts, as far as the
// client may see them.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/diagnosis.h"
#include "api/finding.h"
#include "api/node.h"
#include "api/token.h"
#include "core/flow/limit.h"
#include "core/queues/queue.h"
#include "core/reply.h"
#include "core/schedules/schedule.h"
#include "core/workflows/workflow.h"
#include "engine/request.h"
#include "engine/statistics/statistics.h"
#include "service/error_groups.h"
#include "service/operations.h"
#include "service/push_targets.h"

namespace millrace::service {

// Keeps at most `most` findings of a code, the worst of them, and counts the others.
class FindingList {
 public:
  explicit FindingList(std::size_t most) : most_(most) {}

  // `words()` makes the finding but for its code and severity. Not called if there is no room.
  template <typename Words>
  void add(api::FindingCode code, api::Severity severity, const Words& words) {
    Kind& kind = kinds_[static_cast<std::size_t>(code)][static_cast<std::size_t>(severity)];
    if (kind.count++ >= most_) return;
    api::Finding& made = kind.kept.emplace_back(words());
    made.code = code;
    made.severity = severity;
  }
  // Moves them to the answer.
  void finish(api::Findings& answer);

 private:
  struct Kind {
    std::vector<api::Finding> kept;
    std::size_t count = 0;
  };
  std::size_t most_;
  std::array<std::array<Kind, api::kSeverities>, api::kFindingCodes> kinds_{};
};

struct Judge {
  const api::FindingsQuery& thresholds;
  Time now{};
  FindingList& found;
};

// A queue's workers are not looked at further if they name more types than this.
inline constexpr std::size_t kMostTypesTaken = 40;

// Who takes jobs of which queue: workers and push targets.
class Takers {
 public:
  void add(const engine::WorkerView& worker);
  void add(const api::PushTarget& target);

  // Whether an active worker, or a target that is not paused, takes jobs of the queue.
  bool serve(std::string_view queue) const;
  // The types that are taken from the queue. Null: all, more than kMostTypesTaken, or there is
  // nobody.
  const std::set<std::string, std::less<>>* types_of(std::string_view queue) const;

 private:
  struct Taken {
    bool serves = false;
    bool all_types = false;
    std::set<std::string, std::less<>> types;
  };
  Taken& of(std::string_view queue);

  std::map<std::string, Taken, std::less<>> queues_;
};

// Call judge() for each queue, then finish().
class QueueJudge {
 public:
  QueueJudge(Judge& judge, const Takers& takers) : judge_(judge), takers_(takers) {}
  // `explained`: another finding says why its jobs wait.
  void judge(const core::Queue& queue, bool explained = false);
  void finish();

 private:
  Judge& judge_;
  const Takers& takers_;
  std::int64_t with_work_ = 0;
  std::int64_t paused_ = 0;  // of those
};

// A ready job whose type no worker of its queue takes.
void judge_untaken(Judge& judge, const core::Job& job);
// With the running jobs that the client may see.
void judge_worker(Judge& judge, const engine::WorkerView& worker);

void judge_gate(Judge& judge, const core::LimitView& gate);
bool is_full(const core::LimitView& gate);
// All holders of a full limit for which jobs wait.
void judge_holders(Judge& judge, const core::LimitView& gate,
                   const std::vector<core::LimitHolder>& holders);
// Ready jobs that name a limit with a rate.
void judge_costs(Judge& judge, const core::LimitView& gate, const std::vector<core::Job>& waiting);

void judge_types(Judge& judge, const engine::StatsReply& by_type);
void judge_dead(Judge& judge, const ErrorGroupAnswer& group);
// `jobs`: those of the group that are tried again.
void judge_tried(Judge& judge, const ErrorGroupAnswer& group, const std::vector<core::Job>& jobs);
// The group of jobs whose leases expired.
bool is_of_lost_leases(const ErrorGroupAnswer& group);

void judge_schedule(Judge& judge, const core::Schedule& schedule);
// `runs`: newest first.
void judge_runs(Judge& judge, std::string_view schedule,
                const std::vector<core::ScheduleRun>& runs);
// A workflow that is open and has no unended members. `since`: when the last of them ended.
inline constexpr Duration kIdleWorkflow = std::chrono::hours{24};
bool may_be_idle(const core::Workflow& workflow, Time now);
void judge_idle(Judge& judge, const core::Workflow& workflow, Time since);
// A failed one.
void judge_late_success(Judge& judge, const core::Workflow& workflow);

void judge_target(Judge& judge, const PushTargetAnswer& target);
void judge_token(Judge& judge, const api::TokenInfo& token);

// The answering node. `name`: for sentences, "the server", "node a".
struct NodeName {
  std::string id;
  std::string name = "the server";
};
void judge_check(Judge& judge, const NodeName& node, const ReadinessCheck& check);
void judge_diagnosis(Judge& judge, const NodeName& node, const api::Diagnosis& facts);
void judge_cluster(Judge& judge, const api::Cluster& cluster);

}  // namespace millrace::service
