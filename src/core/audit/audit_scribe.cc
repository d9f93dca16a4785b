#include "core/audit/audit_scribe.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "core/decider.h"
#include "core/kinds.h"

namespace millrace::core {
namespace {

// The images of objects as they are now.
class Imager {
 public:
  Imager(const ShardState& state, const Prefetched& prefetched)
      : state_(state), prefetched_(prefetched) {}

  AuditImage operator()(const AuditObject& object) const {
    if (object.kind == "queue") return queue(object.name);
    if (object.kind == "schedule") return schedule(object.name);
    if (object.kind == "limit") return limit(LimitKind::kNamed, object.name);
    if (object.kind == "type") return limit(LimitKind::kType, object.name);
    if (object.job != kNoJob) return job(object.job);
    return {};
  }

 private:
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

// What a command does, as the audit says it.
struct Deed {
  SharedBytes action;  // empty: the origin says it
  AuditObject object;
  SharedBytes reason;
};

Deed deed_of(const Command& command) {
  return std::visit(
      []<typename C>(const C& given) -> Deed {
        static_assert(Kind<C>::kDone.empty() || Attributed<C>);
        if constexpr (Kind<C>::kDone.empty()) {
          return {};
        } else {
          Deed deed{{}, Kind<C>::object(given), {}};
          const std::string_view kind = deed.object.kind == "jobs" ? "job" : deed.object.kind;
          deed.action = SharedBytes(std::string(kind) + "." + std::string(Kind<C>::kDone));
          if constexpr (requires { given.reason; }) deed.reason = given.reason;
          return deed;
        }
      },
      command);
}

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
    const bool same_job = a.spec.job == b.spec.job;
    const bool same_workflow = a.spec.workflow == b.spec.workflow;
    for (ScheduleImage* image : {&a, &b}) {
      ScheduleSpec& spec = image->spec;
      if (same_job || spec.job.size() > kMaxAuditedJobBytes) spec.job = {};
      if (same_workflow || spec.workflow.size() > kMaxAuditedJobBytes) spec.workflow = {};
      spec.queues.clear();
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

SharedBytes either(const SharedBytes& said, const SharedBytes& follows) {
  return said.empty() ? follows : said;
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
      before_(Imager(state, prefetched)(deed_of(command).object)) {}

std::optional<Audited> AuditScribe::entry(const std::vector<Event>& events,
                                          std::size_t first) const {
  if (events.size() == first && !std::holds_alternative<NoteAudit>(command_)) return std::nullopt;
  const Deed deed = deed_of(command_);
  const AuditObject& object = deed.object;
  Audited made;
  made.n = state_.audited + 1;
  made.actor = origin_.actor;
  made.action = either(origin_.action, deed.action);
  made.kind = either(origin_.kind, SharedBytes(object.kind));
  made.name = origin_.kind.empty() ? object.name : origin_.name;
  made.reason = either(origin_.reason, deed.reason);
  made.before = before_;
  made.after = Imager(state_, prefetched_)(object);
  note_new_payload(command_, made.after);
  // The API call acts on another object than this command alone.
  const bool part_of_more = made.kind.view() != object.kind && !object.kind.empty();
  const std::uint64_t jobs = jobs_in(events, first);
  if (object.counts_jobs || (part_of_more && jobs > 0)) {
    made.jobs = jobs;
    made.before = made.after = {};
  }
  if (!origin_.before.empty()) made.before.text = origin_.before;
  if (!origin_.after.empty()) made.after.text = origin_.after;
  trim(made.before, made.after);
  return made;
}

}  // namespace millrace::core
