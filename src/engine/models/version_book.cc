#include "engine/models/version_book.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "engine/models/model_bytes.h"

namespace millrace::engine {
namespace {

constexpr std::string_view kVersionsMagic = "millrace versions 1\n";
constexpr std::size_t kVersionsOfWorker = 4;

void write_time(std::string& out, Time at) {
  append_number(out, static_cast<std::uint64_t>(to_ms(at)));
}
Time read_time(ModelReader& in) { return time_from_ms(static_cast<std::int64_t>(in.number())); }

}  // namespace

void VersionBook::note(Deploy deploy) {
  if (known_.size() >= kMaxTypeVersions) return;
  if (!known_.emplace(deploy.type, deploy.version).second) return;
  deploys_.push_back(std::move(deploy));
  if (deploys_.size() > kMaxDeploys) deploys_.erase(deploys_.begin());
  changed_ = true;
}

void VersionBook::worker_seen(std::string_view worker, std::string_view version,
                              std::string_view sdk, Time at) {
  if (version.empty() && sdk.empty()) return;
  auto found = workers_.find(worker);
  if (found == workers_.end()) {
    if (workers_.size() >= kMaxVersionedWorkers) {
      std::vector<Time> seen;
      for (const auto& [name, each] : workers_) seen.push_back(each.seen_at);
      const auto nth = seen.begin() + static_cast<std::ptrdiff_t>(seen.size() / 10);
      std::ranges::nth_element(seen, nth);
      absl::erase_if(workers_, [&](const auto& entry) { return entry.second.seen_at <= *nth; });
    }
    found = workers_.try_emplace(std::string(worker)).first;
  }
  Worker& of = found->second;
  of.seen_at = std::max(of.seen_at, at);
  if (!of.versions.empty() && of.versions.back().version == version &&
      of.versions.back().sdk == sdk) {
    return;
  }
  of.versions.push_back({at, std::string(version), std::string(sdk)});
  if (of.versions.size() > kVersionsOfWorker) of.versions.erase(of.versions.begin());
  changed_ = true;
  if (!version.empty()) note({at, {}, std::string(version), std::string(sdk)});
}

// Attempts before the worker first reported its version count for that version.
const VersionBook::Since* VersionBook::find(std::string_view worker, Time at) const {
  const auto found = workers_.find(worker);
  if (found == workers_.end()) return nullptr;
  const std::vector<Since>& versions = found->second.versions;
  const Since* last = &versions.front();
  for (const Since& since : versions) {
    if (since.at <= at) last = &since;
  }
  return last;
}

std::string_view VersionBook::version_of(std::string_view worker, Time at) const {
  const Since* const since = find(worker, at);
  return since == nullptr ? std::string_view() : since->version;
}

void VersionBook::take(const core::EventBatch& batch) {
  if (workers_.empty()) return;
  for (const core::Event& event : batch.events) {
    const auto* const claimed = std::get_if<core::Claimed>(&event);
    if (claimed == nullptr) continue;
    const Since* const since = find(claimed->worker.view(), batch.at);
    if (since == nullptr || since->version.empty()) continue;
    SharedBytes last;
    for (const core::Claimed::Item& item : claimed->items) {
      if (item.job.type == last) continue;
      last = item.job.type;
      if (known_.contains({std::string(last.view()), since->version})) continue;
      note({batch.at, std::string(last.view()), since->version, since->sdk});
    }
  }
}

std::string VersionBook::save() {
  changed_ = false;
  std::string blob(kVersionsMagic);
  std::vector<const std::pair<const std::string, Worker>*> workers;
  for (const auto& entry : workers_) workers.push_back(&entry);
  std::ranges::sort(workers, {},
                    [](const auto* entry) -> const std::string& { return entry->first; });
  append_number(blob, workers.size());
  for (const auto* const entry : workers) {
    append_text(blob, entry->first);
    write_time(blob, entry->second.seen_at);
    append_number(blob, entry->second.versions.size());
    for (const Since& since : entry->second.versions) {
      write_time(blob, since.at);
      append_text(blob, since.version);
      append_text(blob, since.sdk);
    }
  }
  append_number(blob, deploys_.size());
  for (const Deploy& deploy : deploys_) {
    write_time(blob, deploy.at);
    append_text(blob, deploy.type);
    append_text(blob, deploy.version);
    append_text(blob, deploy.sdk);
  }
  append_number(blob, known_.size());
  for (const auto& [type, version] : known_) {
    append_text(blob, type);
    append_text(blob, version);
  }
  return sealed(std::move(blob));
}

bool VersionBook::load(std::string_view blob) {
  *this = {};
  const auto content = unsealed(blob, kVersionsMagic);
  if (!content) return false;
  ModelReader in(*content);
  for (auto left = in.number(kMaxVersionedWorkers); left > 0 && in.ok(); --left) {
    const std::string name = in.text();
    Worker worker;
    worker.seen_at = read_time(in);
    for (auto n = in.number(kVersionsOfWorker); n > 0 && in.ok(); --n) {
      Since& since = worker.versions.emplace_back();
      since.at = read_time(in);
      since.version = in.text();
      since.sdk = in.text();
    }
    if (in.ok() && !worker.versions.empty()) workers_[name] = std::move(worker);
  }
  for (auto left = in.number(kMaxDeploys); left > 0 && in.ok(); --left) {
    Deploy& deploy = deploys_.emplace_back();
    deploy.at = read_time(in);
    deploy.type = in.text();
    deploy.version = in.text();
    deploy.sdk = in.text();
  }
  for (auto left = in.number(kMaxTypeVersions); left > 0 && in.ok(); --left) {
    std::string type = in.text();
    known_.emplace(std::move(type), in.text());
  }
  return in.ok() && in.at_end();
}

}  // namespace millrace::engine
