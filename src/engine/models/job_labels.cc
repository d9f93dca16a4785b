#include "engine/models/job_labels.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

#include "engine/models/model_bytes.h"

namespace millrace::engine {
namespace {

constexpr std::string_view kLabelsMagic = "millrace labels 1\n";

std::string key_of(const LabelSet& labels) {
  std::string key = labels.fair_key;
  for (const std::string& tag : labels.tags) key.append("\n").append(tag);
  return key;
}

}  // namespace

std::size_t JobLabels::part_of(const JobId& job) { return job.bytes[15] % kLabelParts; }

const LabelSet* JobLabels::find(const JobId& job) const {
  if (jobs_.empty()) return nullptr;
  const auto found = jobs_.find(job);
  return found == jobs_.end() ? nullptr : &sets_[found->second].labels;
}

JobLabels::SetNumber JobLabels::set_of(LabelSet labels) {
  std::string key = key_of(labels);
  const auto found = by_key_.find(key);
  if (found != by_key_.end()) return found->second;
  SetNumber number = 0;
  if (free_.empty()) {
    number = static_cast<SetNumber>(sets_.size());
    sets_.emplace_back();
  } else {
    number = free_.back();
    free_.pop_back();
  }
  sets_[number] = {std::move(labels), key, 0};
  by_key_.emplace(std::move(key), number);
  return number;
}

void JobLabels::note(const JobId& job, std::string_view fair_key, std::vector<std::string> tags) {
  forget(job);
  if (fair_key.empty() && tags.empty()) return;
  if (jobs_.size() >= most_) {
    ++passed_over_;
    return;
  }
  const SetNumber number = set_of({std::string(fair_key), std::move(tags)});
  ++sets_[number].jobs;
  jobs_.emplace(job, number);
  changed_[part_of(job)] = true;
}

void JobLabels::note(const core::Job& job) {
  if (job.extras == nullptr) return forget(job.id);
  std::vector<std::string> tags;
  for (const SharedBytes& tag : job.extras->tags) tags.emplace_back(tag.view());
  note(job.id, job.extras->fair_key.view(), std::move(tags));
}

void JobLabels::forget(const JobId& job) {
  if (jobs_.empty()) return;
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  Kept& set = sets_[found->second];
  if (--set.jobs == 0) {
    by_key_.erase(set.key);
    free_.push_back(found->second);
    set = {};
  }
  jobs_.erase(found);
  changed_[part_of(job)] = true;
}

void JobLabels::before(const core::Event& event) {
  if (const auto* submitted = std::get_if<core::Submitted>(&event)) return note(submitted->job);
  if (const auto* retried = std::get_if<core::Retried>(&event)) return note(retried->job);
  const auto* edited = std::get_if<core::Edited>(&event);
  if (edited == nullptr || !edited->tags) return;
  const LabelSet* const known = find(edited->job.id);
  const std::string fair_key = known == nullptr ? std::string() : known->fair_key;
  std::vector<std::string> tags;
  for (const SharedBytes& tag : *edited->tags) tags.emplace_back(tag.view());
  note(edited->job.id, fair_key, std::move(tags));
}

void JobLabels::after(const core::Event& event) {
  if (jobs_.empty()) return;
  if (const auto* ended = std::get_if<core::AttemptEnded>(&event)) {
    if (core::is_terminal(ended->state)) forget(ended->job.id);
  } else if (const auto* expired = std::get_if<core::Expired>(&event)) {
    forget(expired->job.id);
  } else if (const auto* cancelled = std::get_if<core::Cancelled>(&event)) {
    forget(cancelled->job.id);
  } else if (const auto* finished = std::get_if<core::Finished>(&event)) {
    forget(finished->job.id);
  } else if (const auto* deleted = std::get_if<core::Deleted>(&event)) {
    for (const core::Deleted::Item& item : deleted->items) forget(item.job.id);
  }
}

std::vector<JobLabels::Part> JobLabels::take_changed() {
  std::vector<Part> parts;
  if (std::ranges::none_of(changed_, [](bool changed) { return changed; })) return parts;
  // In an order independent of the hash table's.
  std::array<std::vector<std::pair<JobId, SetNumber>>, kLabelParts> jobs;
  for (const auto& [job, number] : jobs_) {
    if (changed_[part_of(job)]) jobs[part_of(job)].emplace_back(job, number);
  }
  for (std::size_t part = 0; part < kLabelParts; ++part) {
    if (!changed_[part]) continue;
    changed_[part] = false;
    Part& made = parts.emplace_back(Part{part, {}});
    if (jobs[part].empty()) continue;
    std::ranges::sort(jobs[part]);
    made.content = kLabelsMagic;
    append_number(made.content, jobs[part].size());
    for (const auto& [job, number] : jobs[part]) {
      const LabelSet& labels = sets_[number].labels;
      append_id(made.content, job);
      append_text(made.content, labels.fair_key);
      append_number(made.content, labels.tags.size());
      for (const std::string& tag : labels.tags) append_text(made.content, tag);
    }
    made.content = sealed(std::move(made.content));
  }
  return parts;
}

bool JobLabels::load(std::string_view blob) {
  const auto content = unsealed(blob, kLabelsMagic);
  if (!content) return false;
  ModelReader in(*content);
  for (std::uint64_t left = in.number(); left > 0 && in.ok(); --left) {
    const JobId job = in.id();
    const std::string fair_key = in.text();
    std::vector<std::string> tags;
    for (std::uint64_t n = in.number(1'000); n > 0 && in.ok(); --n) tags.push_back(in.text());
    if (in.ok()) note(job, fair_key, std::move(tags));
  }
  changed_.fill(false);
  return in.ok() && in.at_end();
}

}  // namespace millrace::engine
