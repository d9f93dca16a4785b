#include "core/audit/audit_scribe.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/decider.h"

namespace millrace::core {
namespace {

// The object of a command, and its current image.
struct Subject {
  std::string_view action;
  std::string_view kind;
  SharedBytes name;
  SharedBytes reason;
  AuditImage image;
  bool counts_jobs = false;  // the command acts on several jobs
};

class Looking {
 public:
  Looking(const ShardState& state, const Prefetched& prefetched)
      : state_(state), prefetched_(prefetched) {}

  Subject operator()(const Enqueue& command) const {
    const bool one = command.jobs.size() == 1;
    return {
        "job.submitted", "job", one ? of_id(command.jobs.front().id) : SharedBytes(), {}, {}, !one};
  }
  Subject operator()(const Cancel& command) const {
    return of_jobs("job.cancelled", command.ids, command.reason);
  }
  Subject operator()(const Retry& command) const { return of_jobs("job.retried", command.ids, {}); }
  Subject operator()(const Edit& command) const { return of_jobs("job.edited", command.ids, {}); }
  Subject operator()(const Delete& command) const {
    return of_jobs("job.deleted", command.ids, {});
  }

  Subject operator()(const SetQueue& command) const {
    return {"queue.set", "queue", command.queue, {}, queue(command.queue)};
  }
  Subject operator()(const PauseQueue& command) const {
    return {"queue.paused", "queue", command.queue, command.reason, queue(command.queue)};
  }
  Subject operator()(const ResumeQueue& command) const {
    return {"queue.resumed", "queue", command.queue, {}, queue(command.queue)};
  }
  Subject operator()(const DeleteQueue& command) const {
    return {"queue.deleted", "queue", command.queue, {}, queue(command.queue)};
  }
  // The deletions before it were counted already.
  Subject operator()(const NotePurge& command) const {
    return {"queue.purged", "queue", command.queue, {}, {}, true};
  }

  Subject operator()(const SetLimit& command) const {
    return of_limit("limit.set", "type.set", command.kind, command.name, {});
  }
  Subject operator()(const PauseLimit& command) const {
    return of_limit("limit.paused", "type.paused", command.kind, command.name, command.reason);
  }
  Subject operator()(const ResumeLimit& command) const {
    return of_limit("limit.resumed", "type.resumed", command.kind, command.name, {});
  }
  Subject operator()(const DeleteLimit& command) const {
    return of_limit("limit.deleted", "type.deleted", command.kind, command.name, {});
  }

  Subject operator()(const SetSchedule& command) const {
    return {"schedule.set", "schedule", command.name, {}, schedule(command.name)};
  }
  Subject operator()(const PauseSchedule& command) const {
    return {"schedule.paused", "schedule", command.name, command.reason, schedule(command.name)};
  }
  Subject operator()(const ResumeSchedule& command) const {
    return {"schedule.resumed", "schedule", command.name, {}, schedule(command.name)};
  }
  Subject operator()(const DeleteSchedule& command) const {
    return {"schedule.deleted", "schedule", command.name, {}, schedule(command.name)};
  }

  // The origin gives the rest.
  Subject operator()(const PutCatalogEntry& command) const {
    return {"document.set", "document", command.name, {}, {}};
  }
  Subject operator()(const DeleteCatalogEntry& command) const {
    return {"document.deleted", "document", command.name, {}, {}};
  }
  Subject operator()(const StartOperation& command) const {
    return {"operation.started", "operation", of_id(command.id), {}, {}};
  }
  Subject operator()(const NoteAudit&) const { return {}; }

  template <typename C>
    requires(!Attributed<C>)
  Subject operator()(const C&) const {
    return {};
  }

 private:
  static SharedBytes of_id(const JobId& id) { return SharedBytes(to_string(id)); }

  Subject of_jobs(std::string_view action, const std::vector<JobId>& ids,
                  const SharedBytes& reason) const {
    if (ids.size() != 1) return {action, "jobs", {}, reason, {}, true};
    return {action, "job", of_id(ids.front()), reason, job(ids.front())};
  }

  Subject of_limit(std::string_view of_named, std::string_view of_type, LimitKind kind,
                   const SharedBytes& name, const SharedBytes& reason) const {
    const bool type = kind == LimitKind::kType;
    return {type ? of_type : of_named, type ? "type" : "limit", name, reason, limit(kind, name)};
  }

  AuditImage queue(const SharedBytes& name) const {
    const QueueEntry* const found = state_.find_queue(name.view());
    if (found == nullptr) return {};
    AuditImage image;
    image.queue = std::make_shared<const QueueImage>(
        QueueImage{found->settings, found->paused, found->pause_reason});
    return image;
  }

  AuditImage limit(LimitKind kind, const SharedBytes& name) const {
    const LimitEntry* const found = state_.gates.find(kind, name.view());
    if (found == nullptr) return {};
    AuditImage image;
    image.limit =
        std::make_shared<const LimitImage>(LimitImage{found->limit.settings, found->limit.pauses});
    return image;
  }

  AuditImage schedule(const SharedBytes& name) const {
    const ScheduleEntry* const found = state_.schedules.find(name.view());
    if (found == nullptr) return {};
    const Schedule& schedule = found->schedule;
    AuditImage image;
    image.schedule = std::make_shared<const ScheduleImage>(
        ScheduleImage{schedule.spec, schedule.paused, schedule.pause_reason});
    return image;
  }

  AuditImage job(const JobId& id) const {
    if (const SlotIndex index = state_.find(id); index != kNoSlot) {
      return of_job(to_job(state_.slots.at(index)));
    }
    if (const auto found = state_.retired.find(id); found != state_.retired.end()) {
      return of_job(to_job(state_.slots.at(found->second)));
    }
    const bool gone = state_.changes.tombstones.contains(id);
    const Job* const stored = gone ? nullptr : prefetched_.find(id);
    return stored == nullptr ? AuditImage() : of_job(*stored);
  }

  static AuditImage of_job(const Job& job) {
    JobImage made;
    made.queue = job.queue;
    made.type = job.type;
    made.state = job.state;
    made.priority = job.priority;
    made.run_at = job.run_at;
    made.attempt = job.attempt;
    made.max_attempts = job.max_attempts;
    made.cancel_requested = job.cancel_requested;
    if (job.extras != nullptr) {
      const auto& tags = job.extras->tags;
      const auto most = static_cast<std::ptrdiff_t>(std::min(tags.size(), kMaxAuditedTags));
      made.tags.assign(tags.begin(), tags.begin() + most);
    }
    AuditImage image;
    image.job = std::make_shared<const JobImage>(std::move(made));
    return image;
  }

  const ShardState& state_;
  const Prefetched& prefetched_;
};

// Keeps only the elements that one list has alone, at most `most` of them.
template <typename T>
void keep_differences(std::vector<T>& a, std::vector<T>& b, std::size_t most) {
  const auto without = [most](const std::vector<T>& all, const std::vector<T>& others) {
    std::vector<T> left;
    for (const T& one : all) {
      if (left.size() == most) break;
      if (std::ranges::find(others, one) == others.end()) left.push_back(one);
    }
    return left;
  };
  // Comparing lists as long as a limit's may be would take too long.
  if (a.size() > 1'000 || b.size() > 1'000) {
    a.resize(std::min(a.size(), most));
    b.resize(std::min(b.size(), most));
    return;
  }
  std::vector<T> first = without(a, b);
  b = without(b, a);
  a = std::move(first);
}

template <typename Image, typename Trim>
void trim(std::shared_ptr<const Image>& before, std::shared_ptr<const Image>& after, Trim lists) {
  if (before == nullptr && after == nullptr) return;
  Image a = before == nullptr ? Image() : *before;
  Image b = after == nullptr ? Image() : *after;
  lists(a, b);
  if (before != nullptr) before = std::make_shared<const Image>(std::move(a));
  if (after != nullptr) after = std::make_shared<const Image>(std::move(b));
}

void trim(AuditImage& before, AuditImage& after) {
  trim(before.limit, after.limit, [](LimitImage& a, LimitImage& b) {
    keep_differences(a.settings.keys, b.settings.keys, kMaxAuditedKeys);
    keep_differences(a.pauses, b.pauses, kMaxAuditedPauses);
  });
  trim(before.queue, after.queue, [](QueueImage& a, QueueImage& b) {
    std::vector<FairWeight> none;
    auto& of_a = a.settings.fair ? a.settings.fair->weights : none;
    auto& of_b = b.settings.fair ? b.settings.fair->weights : none;
    keep_differences(of_a, of_b, kMaxAuditedKeys);
  });
  trim(before.schedule, after.schedule, [](ScheduleImage& a, ScheduleImage& b) {
    const bool same = a.spec.job == b.spec.job;
    for (ScheduleImage* image : {&a, &b}) {
      if (same || image->spec.job.size() > kMaxAuditedJobBytes) image->spec.job = {};
    }
  });
}

std::uint64_t jobs_in(const std::vector<Event>& events, std::size_t first) {
  std::uint64_t jobs = 0;
  for (std::size_t i = first; i < events.size(); ++i) {
    if (const auto* const deleted = std::get_if<Deleted>(&events[i])) {
      jobs += deleted->items.size();
    } else {
      jobs += std::holds_alternative<Cancelled>(events[i]) ||
              std::holds_alternative<CancelRequested>(events[i]) ||
              std::holds_alternative<Retried>(events[i]) ||
              std::holds_alternative<Edited>(events[i]) ||
              std::holds_alternative<Submitted>(events[i]);
    }
  }
  return jobs;
}

SharedBytes either(const SharedBytes& said, std::string_view follows) {
  return said.empty() ? SharedBytes(follows) : said;
}

void note_new_payload(const Command& command, AuditImage& after) {
  const auto* const edit = std::get_if<Edit>(&command);
  if (edit == nullptr || edit->payload.empty() || after.job == nullptr) return;
  JobImage image = *after.job;
  image.new_payload = true;
  after.job = std::make_shared<const JobImage>(std::move(image));
}

}  // namespace

const Origin* origin_of(const Command& command) {
  return std::visit(
      []<typename C>(const C& of) -> const Origin* {
        if constexpr (Attributed<C>) {
          return of.by.get();
        } else {
          return nullptr;
        }
      },
      command);
}

AuditScribe::AuditScribe(const ShardState& state, const Prefetched& prefetched,
                         const Command& command, const Origin& origin)
    : state_(state),
      prefetched_(prefetched),
      command_(command),
      origin_(origin),
      before_(std::visit(Looking(state, prefetched), command).image) {}

std::optional<Audited> AuditScribe::entry(const std::vector<Event>& events,
                                          std::size_t first) const {
  if (events.size() == first && !std::holds_alternative<NoteAudit>(command_)) return std::nullopt;
  Subject subject = std::visit(Looking(state_, prefetched_), command_);
  Audited made;
  made.n = state_.audited + 1;
  made.actor = origin_.actor;
  made.action = either(origin_.action, subject.action);
  made.kind = either(origin_.kind, subject.kind);
  made.name = origin_.kind.empty() ? subject.name : origin_.name;
  made.reason = origin_.reason.empty() ? subject.reason : origin_.reason;
  made.before = before_;
  made.after = std::move(subject.image);
  note_new_payload(command_, made.after);
  // The API call acts on another object than this command alone.
  const bool part_of_more = made.kind.view() != subject.kind && !subject.kind.empty();
  const std::uint64_t jobs = jobs_in(events, first);
  if (subject.counts_jobs || (part_of_more && jobs > 0)) {
    made.jobs = jobs;
    made.before = made.after = {};
  }
  if (!origin_.before.empty()) made.before.text = origin_.before;
  if (!origin_.after.empty()) made.after.text = origin_.after;
  trim(made.before, made.after);
  return made;
}

}  // namespace millrace::core
