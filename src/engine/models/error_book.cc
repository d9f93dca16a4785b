#include "engine/models/error_book.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "base/utf8.h"
#include "core/jobs/error_fingerprint.h"
#include "engine/models/model_bytes.h"

namespace millrace::engine {
namespace {

constexpr std::string_view kGroupsMagic = "millrace errors 1\n";
constexpr std::string_view kJobsMagic = "millrace failed jobs 1\n";
constexpr Duration kHour{3'600'000};

std::size_t part_of(const JobId& job) { return job.bytes[15] % kErrorParts; }

bool has_error(const core::AttemptEnded& ended) {
  using enum core::AttemptOutcome;
  const bool failed = ended.outcome == kFailed || ended.outcome == kDead ||
                      ended.outcome == kLeaseExpired || ended.outcome == kTimedOut;
  return failed && ended.error != nullptr && ended.error->fingerprint != 0;
}

// False: there is no room for another name.
bool add_name(std::vector<std::string>& names, std::string_view name) {
  if (std::ranges::find(names, name) != names.end()) return true;
  if (names.size() >= kGroupNames) return false;
  names.emplace_back(name);
  return true;
}

void add_hour(std::vector<ErrorGroup::Hour>& hours, std::int64_t hour, std::uint64_t failures) {
  auto at = hours.end();
  while (at != hours.begin() && std::prev(at)->hour >= hour) --at;
  if (at == hours.end() || at->hour != hour) at = hours.insert(at, {hour, 0});
  at->failures += failures;
  const auto oldest = hours.back().hour - static_cast<std::int64_t>(kTrendHours);
  std::erase_if(hours, [oldest](const ErrorGroup::Hour& each) { return each.hour <= oldest; });
}

void add_failure(std::vector<ErrorGroup::Failure>& sample, const JobId& job, Time at) {
  std::erase_if(sample, [&](const ErrorGroup::Failure& each) { return each.job == job; });
  auto place = sample.begin();
  while (place != sample.end() && place->at > at) ++place;
  sample.insert(place, {job, at});
  if (sample.size() > kGroupSample) sample.pop_back();
}

void add_version(std::vector<ErrorGroup::Version>& versions, const ErrorGroup::Version& more) {
  const auto found = std::ranges::find(versions, more.version, &ErrorGroup::Version::version);
  if (found != versions.end()) {
    found->first_seen = std::min(found->first_seen, more.first_seen);
    found->last_seen = std::max(found->last_seen, more.last_seen);
    found->count += more.count;
    return;
  }
  versions.push_back(more);
  if (versions.size() <= kGroupNames) return;
  versions.erase(std::ranges::min_element(versions, {}, &ErrorGroup::Version::last_seen));
}

std::string bounded(std::string_view text) {
  return std::string(cut_utf8(text, kGroupMessageBytes));
}

void write_times(std::string& out, Time first, Time last) {
  append_number(out, static_cast<std::uint64_t>(to_ms(first)));
  append_number(out, static_cast<std::uint64_t>(to_ms(last)));
}

Time read_time(ModelReader& in) { return time_from_ms(static_cast<std::int64_t>(in.number())); }

void write_names(std::string& out, const std::vector<std::string>& names) {
  append_number(out, names.size());
  for (const std::string& name : names) append_text(out, name);
}

void read_names(ModelReader& in, std::vector<std::string>& names) {
  for (auto left = in.number(kGroupNames); left > 0 && in.ok(); --left) names.push_back(in.text());
}

void write_group(std::string& out, const ErrorGroup& group) {
  append_number(out, group.fingerprint);
  append_text(out, group.error_type);
  append_text(out, group.message);
  write_names(out, group.queues);
  write_names(out, group.types);
  append_number(out, group.more_queues ? 1 : 0);
  append_number(out, group.total);
  write_times(out, group.first_seen, group.last_seen);
  append_number(out, group.hours.size());
  for (const ErrorGroup::Hour& hour : group.hours) {
    append_number(out, static_cast<std::uint64_t>(hour.hour));
    append_number(out, hour.failures);
  }
  append_number(out, group.versions.size());
  for (const ErrorGroup::Version& version : group.versions) {
    append_text(out, version.version);
    write_times(out, version.first_seen, version.last_seen);
    append_number(out, version.count);
  }
  append_number(out, group.sample.size());
  for (const ErrorGroup::Failure& failure : group.sample) {
    append_id(out, failure.job);
    append_number(out, static_cast<std::uint64_t>(to_ms(failure.at)));
  }
}

ErrorGroup read_group(ModelReader& in) {
  ErrorGroup group;
  group.fingerprint = in.number();
  group.error_type = in.text();
  group.message = in.text();
  read_names(in, group.queues);
  read_names(in, group.types);
  group.more_queues = in.number() == 1;
  group.total = in.number();
  group.first_seen = read_time(in);
  group.last_seen = read_time(in);
  for (auto left = in.number(kTrendHours); left > 0 && in.ok(); --left) {
    const auto hour = static_cast<std::int64_t>(in.number());
    group.hours.push_back({hour, in.number()});
  }
  for (auto left = in.number(kGroupNames); left > 0 && in.ok(); --left) {
    ErrorGroup::Version& version = group.versions.emplace_back();
    version.version = in.text();
    version.first_seen = read_time(in);
    version.last_seen = read_time(in);
    version.count = in.number();
  }
  for (auto left = in.number(kGroupSample); left > 0 && in.ok(); --left) {
    const JobId job = in.id();
    group.sample.push_back({job, read_time(in)});
  }
  return group;
}

}  // namespace

void ErrorGroup::merge(const ErrorGroup& other) {
  if (total == 0) {
    *this = other;
    return;
  }
  if (other.first_seen < first_seen) {
    error_type = other.error_type;
    message = other.message;
  }
  more_queues |= other.more_queues;
  for (const std::string& queue : other.queues) more_queues |= !add_name(queues, queue);
  for (const std::string& type : other.types) add_name(types, type);
  waiting += other.waiting;
  dead += other.dead;
  total += other.total;
  first_seen = std::min(first_seen, other.first_seen);
  last_seen = std::max(last_seen, other.last_seen);
  for (const Hour& hour : other.hours) add_hour(hours, hour.hour, hour.failures);
  for (const Version& version : other.versions) add_version(versions, version);
  for (const Failure& failure : other.sample) add_failure(sample, failure.job, failure.at);
}

void ErrorBook::take(const core::EventBatch& batch, const VersionOf& version_of,
                     const IsResolved& is_resolved) {
  for (const core::Event& event : batch.events) {
    if (const auto* ended = std::get_if<core::AttemptEnded>(&event)) {
      leave(ended->job.id);
      if (has_error(*ended)) fail(*ended, batch.at, version_of, is_resolved);
    } else if (jobs_.empty()) {
      continue;  // no other event matters
    } else if (const auto* due = std::get_if<core::BecameDue>(&event)) {
      for (const core::JobRef& job : due->jobs) leave(job.id);
    } else if (const auto* claimed = std::get_if<core::Claimed>(&event)) {
      for (const core::Claimed::Item& item : claimed->items) leave(item.job.id);
    } else if (const auto* retried = std::get_if<core::Retried>(&event)) {
      leave(retried->job.id);
    } else if (const auto* expired = std::get_if<core::Expired>(&event)) {
      leave(expired->job.id);
    } else if (const auto* cancelled = std::get_if<core::Cancelled>(&event)) {
      leave(cancelled->job.id);
    } else if (const auto* finished = std::get_if<core::Finished>(&event)) {
      leave(finished->job.id);
    } else if (const auto* edited = std::get_if<core::Edited>(&event)) {
      if (edited->state && *edited->state != core::State::kRetrying) leave(edited->job.id);
    } else if (const auto* deleted = std::get_if<core::Deleted>(&event)) {
      for (const core::Deleted::Item& item : deleted->items) leave(item.job.id);
    }
  }
}

void ErrorBook::leave(const JobId& job) {
  if (jobs_.empty()) return;
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  const auto group = groups_.find(found->second.fingerprint);
  if (group != groups_.end()) {
    --group->second.waiting;
    if (found->second.dead) --group->second.dead;
  }
  jobs_changed_[part_of(job)] = true;
  jobs_.erase(found);
}

void ErrorBook::fail(const core::AttemptEnded& ended, Time at, const VersionOf& version_of,
                     const IsResolved& is_resolved) {
  ErrorGroup& group = group_of(*ended.error, at, is_resolved);
  ++group.total;
  group.last_seen = std::max(group.last_seen, at);
  group.more_queues |= !add_name(group.queues, ended.job.queue.view());
  add_name(group.types, ended.job.type.view());
  add_hour(group.hours, at.time_since_epoch() / kHour, 1);
  add_failure(group.sample, ended.job.id, at);
  const std::string_view version = version_of(ended.worker.view(), at);
  if (!version.empty()) add_version(group.versions, {std::string(version), at, at, 1});
  change(group.fingerprint);
  const bool dead = ended.state == core::State::kDead;
  if (!dead && ended.state != core::State::kRetrying) return;
  if (ended.keep == core::Keep::kForgotten) return;
  if (jobs_.size() >= most_jobs_) {
    ++passed_over_;
    return;
  }
  jobs_[ended.job.id] = {group.fingerprint, dead};
  jobs_changed_[part_of(ended.job.id)] = true;
  ++group.waiting;
  if (dead) ++group.dead;
}

ErrorGroup& ErrorBook::group_of(const core::JobError& error, Time at,
                                const IsResolved& is_resolved) {
  const auto found = groups_.find(error.fingerprint);
  if (found != groups_.end()) return found->second;
  if (groups_.size() >= most_groups_) make_room(is_resolved);
  ErrorGroup& group = groups_[error.fingerprint];
  group.fingerprint = error.fingerprint;
  group.error_type = error.type.view();
  group.message = bounded(core::error_pattern(error.message.view()));
  group.first_seen = group.last_seen = at;
  return group;
}

// Removes a hundredth at once, because the search costs as much as there are groups.
void ErrorBook::make_room(const IsResolved& is_resolved) {
  struct Candidate {
    bool open = false;
    Time last_seen{};
    std::uint64_t fingerprint = 0;
    auto operator<=>(const Candidate&) const = default;
  };
  std::vector<Candidate> candidates;
  candidates.reserve(groups_.size());
  for (const auto& [fingerprint, group] : groups_) {
    candidates.push_back(
        {!is_resolved(fingerprint, group.last_seen), group.last_seen, fingerprint});
  }
  const auto many = static_cast<std::ptrdiff_t>(std::max<std::size_t>(most_groups_ / 100, 1));
  std::ranges::partial_sort(candidates, candidates.begin() + many);
  for (std::ptrdiff_t i = 0; i < many; ++i) {
    const std::uint64_t fingerprint = candidates[static_cast<std::size_t>(i)].fingerprint;
    groups_.erase(fingerprint);
    change(fingerprint);
    ++evicted_;
    absl::erase_if(jobs_, [&](const auto& entry) {
      if (entry.second.fingerprint != fingerprint) return false;
      jobs_changed_[part_of(entry.first)] = true;
      return true;
    });
  }
}

std::vector<ErrorBook::Part> ErrorBook::take_changed() {
  std::vector<Part> parts;
  std::array<std::vector<const ErrorGroup*>, kErrorParts> groups;
  for (const auto& [fingerprint, group] : groups_) {
    if (groups_changed_[fingerprint % kErrorParts]) {
      groups[fingerprint % kErrorParts].push_back(&group);
    }
  }
  std::array<std::vector<std::pair<JobId, Failed>>, kErrorParts> jobs;
  const bool any_jobs = std::ranges::any_of(jobs_changed_, [](bool changed) { return changed; });
  if (any_jobs) {
    for (const auto& [job, failed] : jobs_) {
      if (jobs_changed_[part_of(job)]) jobs[part_of(job)].emplace_back(job, failed);
    }
  }
  for (std::size_t part = 0; part < kErrorParts; ++part) {
    if (std::exchange(groups_changed_[part], false)) {
      Part& made = parts.emplace_back(Part{false, part, {}});
      if (!groups[part].empty()) {
        made.content = kGroupsMagic;
        append_number(made.content, groups[part].size());
        for (const ErrorGroup* const group : groups[part]) write_group(made.content, *group);
        made.content = sealed(std::move(made.content));
      }
    }
    if (std::exchange(jobs_changed_[part], false)) {
      Part& made = parts.emplace_back(Part{true, part, {}});
      if (jobs[part].empty()) continue;
      std::ranges::sort(jobs[part], {}, &std::pair<JobId, Failed>::first);
      made.content = kJobsMagic;
      append_number(made.content, jobs[part].size());
      for (const auto& [job, failed] : jobs[part]) {
        append_id(made.content, job);
        append_number(made.content, failed.fingerprint);
        append_number(made.content, failed.dead ? 1 : 0);
      }
      made.content = sealed(std::move(made.content));
    }
  }
  return parts;
}

void ErrorBook::change_all() {
  groups_changed_.fill(true);
  jobs_changed_.fill(true);
}

bool ErrorBook::load_groups(std::string_view blob) {
  const auto content = unsealed(blob, kGroupsMagic);
  if (!content) return false;
  ModelReader in(*content);
  for (auto left = in.number(); left > 0 && in.ok(); --left) {
    ErrorGroup group = read_group(in);
    if (in.ok()) groups_[group.fingerprint] = std::move(group);
  }
  return in.ok() && in.at_end();
}

// Call after all groups are loaded.
bool ErrorBook::load_jobs(std::string_view blob) {
  const auto content = unsealed(blob, kJobsMagic);
  if (!content) return false;
  ModelReader in(*content);
  for (auto left = in.number(); left > 0 && in.ok(); --left) {
    const JobId job = in.id();
    const std::uint64_t fingerprint = in.number();
    const bool dead = in.number(1) == 1;
    const auto group = groups_.find(fingerprint);
    if (!in.ok() || group == groups_.end()) continue;
    jobs_[job] = {fingerprint, dead};
    ++group->second.waiting;
    if (dead) ++group->second.dead;
  }
  return in.ok() && in.at_end();
}

}  // namespace millrace::engine
