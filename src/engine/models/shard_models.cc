#include "engine/models/shard_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "engine/models/model_bytes.h"
#include "engine/statistics/statistics_series.h"

namespace millrace::engine {
namespace {

constexpr std::string_view kModelsMagic = "millrace models 1\n";
constexpr std::string_view kPosition = "models/at";
constexpr std::string_view kVersions = "models/versions";
constexpr std::string_view kGroups = "models/errors/g/";
constexpr std::string_view kFailed = "models/errors/j/";
constexpr std::string_view kLabels = "models/labels/";
constexpr std::string_view kSeries = "models/series/";
constexpr int kTries = 5;  // of a load while another leader stores

std::string name_of(std::string_view kind, std::size_t number) {
  return fmt::format("{}{:02}", kind, number);
}
// After all names with this prefix.
std::string end_of(std::string_view kind) {
  std::string end(kind);
  ++end.back();
  return end;
}

store::NamedBlob blob_of(std::string name, std::string content) {
  if (content.empty()) return {std::move(name), std::nullopt};
  return {std::move(name), std::move(content)};
}

struct Stored {
  ModelPosition position;
  std::uint64_t gaps = 0;
  bool anew = false;
};

std::string encode(const Stored& stored) {
  std::string blob(kModelsMagic);
  append_number(blob, stored.anew ? 1 : 0);
  append_number(blob, to_number(stored.position.seq));
  append_number(blob, static_cast<std::uint64_t>(to_ms(stored.position.at)));
  append_number(blob, stored.gaps);
  append_number(blob, stored.position.gaps.size());
  for (const ModelGap& gap : stored.position.gaps) {
    append_number(blob, static_cast<std::uint64_t>(to_ms(gap.from)));
    append_number(blob, static_cast<std::uint64_t>(to_ms(gap.to)));
  }
  return sealed(std::move(blob));
}

std::optional<Stored> decode(std::string_view blob) {
  const auto content = unsealed(blob, kModelsMagic);
  if (!content) return std::nullopt;
  ModelReader in(*content);
  const auto time = [&in] { return time_from_ms(static_cast<std::int64_t>(in.number())); };
  Stored stored;
  stored.anew = in.number() == 1;
  stored.position.seq = Seq{in.number()};
  stored.position.at = time();
  stored.gaps = in.number();
  for (auto left = in.number(kGapsRemembered); left > 0 && in.ok(); --left) {
    const Time from = time();
    stored.position.gaps.push_back({from, time()});
  }
  if (!in.ok() || !in.at_end()) return std::nullopt;
  return stored;
}

// Whether a chunk of series is over before `oldest`.
bool is_before(std::string_view name, Time oldest) {
  const std::size_t slash = name.rfind('/');
  const std::string_view digits = name.substr(slash + 1);
  std::int64_t number = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), number).ec != std::errc()) {
    return false;
  }
  const char letter = name[slash - 1];
  const std::size_t length = letter == 's' ? 0 : letter == 'm' ? 1 : 2;
  return Time{(number + 1) * kSlotLengths[length].chunk()} <= oldest;
}

ErrorBook make_errors(std::size_t shards) {
  const std::size_t groups =
      shards == 1 ? kMaxErrorGroups
                  : std::clamp<std::size_t>(2 * kMaxErrorGroups / shards, 1'000, kMaxErrorGroups);
  return {groups, kMaxFailedJobs / shards};
}

}  // namespace

ShardModels::ShardModels(std::size_t shards)
    : shards_(shards),
      statistics_(shards),
      labels_(kMaxLabelledJobs / shards),
      errors_(make_errors(shards)) {}

Status ShardModels::request_reproject(store::Tables& tables) {
  const auto stored = tables.get_blob(std::string(kPosition));
  if (!stored) return std::unexpected(stored.error());
  Stored position;
  position.anew = true;
  return tables.put_blob(std::string(kPosition), encode(position));
}

Result<std::optional<ModelPosition>> ShardModels::stored_position(store::Tables& tables) {
  const auto stored = tables.get_blob(std::string(kPosition));
  if (!stored) return std::unexpected(stored.error());
  const auto decoded = *stored ? decode(**stored) : std::nullopt;
  if (!decoded || decoded->anew) return std::nullopt;
  return decoded->position;
}

Status ShardModels::load(store::Tables& tables, const std::optional<Oldest>& oldest) {
  return load(tables, oldest, true);
}

Status ShardModels::load(store::Tables& tables, const std::optional<Oldest>& oldest,
                         bool to_follow) {
  for (int tries = 0; tries < kTries; ++tries) {
    auto before = tables.get_blob(std::string(kPosition));
    if (!before) return std::unexpected(before.error());
    const auto stored = *before ? decode(**before) : std::nullopt;
    stored_ = *before;
    to_delete_.clear();
    Status done;
    if (stored && !stored->anew) {
      const auto whole = load_parts(tables, stored->position.at, to_follow);
      if (!whole) return std::unexpected(whole.error());
      damaged_ = !*whole;
      if (damaged_) {
        done = begin_anew(tables, oldest);
      } else {
        const MutexLock lock(mutex_);
        position_ = stored->position;
        gaps_ = stored->gaps;
        changed_ = false;
      }
    } else {
      // Nothing was stored, or it is damaged, or a reprojection was requested.
      done = begin_anew(tables, oldest);
    }
    if (!done) return done;
    const auto after = tables.get_blob(std::string(kPosition));
    if (!after) return std::unexpected(after.error());
    if (*after == stored_) return {};
  }
  return failure("another node stores the read models of this shard all the time");
}

Status ShardModels::load_if_changed(store::Tables& tables) {
  const auto stored = tables.get_blob(std::string(kPosition));
  if (!stored) return std::unexpected(stored.error());
  if (!*stored || *stored == stored_) return {};
  const auto decoded = decode(**stored);
  if (!decoded || decoded->anew) return {};
  return load(tables, std::nullopt, false);
}

Status ShardModels::begin_anew(store::Tables& tables, const std::optional<Oldest>& oldest) {
  const auto series = tables.get_blobs(std::string(kSeries), end_of(kSeries));
  if (!series) return std::unexpected(series.error());
  const bool partial = oldest && oldest->seq > Seq{1};
  for (const store::NamedBlob& blob : *series) {
    if (partial && is_before(blob.name, oldest->at)) continue;
    to_delete_.push_back(blob.name);
  }
  to_delete_.emplace_back("statistics");  // where older programs stored them
  const auto versions = tables.get_blob(std::string(kVersions));
  if (!versions) return std::unexpected(versions.error());
  statistics_.clear();
  labels_ = JobLabels(kMaxLabelledJobs / shards_);
  labels_.change_all();
  const MutexLock lock(mutex_);
  errors_ = make_errors(shards_);
  errors_.change_all();
  // These are not in the log.
  if (*versions) versions_.load(**versions);
  position_ = {};
  gaps_ = 0;
  changed_ = true;
  return {};
}

Result<bool> ShardModels::load_parts(store::Tables& tables, Time at, bool to_follow) {
  const auto read = [&tables](std::string_view kind) {
    return tables.get_blobs(std::string(kind), end_of(kind));
  };
  const auto groups = read(kGroups), failed = read(kFailed);
  const auto labels = to_follow ? read(kLabels) : Result<std::vector<store::NamedBlob>>();
  if (!groups) return std::unexpected(groups.error());
  if (!failed) return std::unexpected(failed.error());
  if (!labels) return std::unexpected(labels.error());
  const auto versions = tables.get_blob(std::string(kVersions));
  if (!versions) return std::unexpected(versions.error());
  bool whole = statistics_.load(tables, at);
  labels_ = JobLabels(kMaxLabelledJobs / shards_);
  for (const store::NamedBlob& blob : *labels) whole &= labels_.load(*blob.content);
  const MutexLock lock(mutex_);
  errors_ = make_errors(shards_);
  for (const store::NamedBlob& blob : *groups) whole &= errors_.load_groups(*blob.content);
  for (const store::NamedBlob& blob : *failed) whole &= errors_.load_jobs(*blob.content);
  versions_ = {};
  if (*versions) whole &= versions_.load(**versions);
  return whole;
}

void ShardModels::take(Seq seq, const core::EventBatch& batch, Statistics::Source source) {
  statistics_.take(batch, source, &labels_);
  const MutexLock lock(mutex_);
  versions_.take(batch);
  errors_.take(
      batch,
      [this](std::string_view worker, Time at)
          MILLRACE_REQUIRES(mutex_) { return versions_.version_of(worker, at); },
      is_resolved_);
  position_.seq = seq;
  position_.at = std::max(position_.at, batch.at);
  labelled_ = labels_.size();
  unlabelled_ = labels_.passed_over();
  changed_ = true;
}

void ShardModels::worker_seen(std::string_view worker, std::string_view version,
                              std::string_view sdk, Time at) {
  const MutexLock lock(mutex_);
  versions_.worker_seen(worker, version, sdk, at);
  changed_ |= versions_.changed();
}

void ShardModels::skip(Seq to, Time at) {
  const MutexLock lock(mutex_);
  // Rows that were never known are no gap.
  if (position_.seq != Seq{}) {
    ++gaps_;
    position_.gaps.push_back({position_.at, at});
    if (position_.gaps.size() > kGapsRemembered) position_.gaps.erase(position_.gaps.begin());
  }
  position_.seq = to;
  position_.at = std::max(position_.at, at);
  changed_ = true;
}

bool ShardModels::changed() const {
  const MutexLock lock(mutex_);
  return changed_;
}

std::string ShardModels::position_blob() const { return encode({position_, gaps_, false}); }

Result<bool> ShardModels::save(store::Tables& tables) {
  std::vector<store::NamedBlob> blobs;
  blobs.reserve(to_delete_.size());
  for (const std::string& name : to_delete_) blobs.push_back({name, std::nullopt});
  for (store::NamedBlob& blob : statistics_.save()) {
    std::erase_if(blobs, [&](const auto& each) { return each.name == blob.name; });
    blobs.push_back(std::move(blob));
  }
  for (JobLabels::Part& part : labels_.take_changed()) {
    blobs.push_back(blob_of(name_of(kLabels, part.number), std::move(part.content)));
  }
  std::string position;
  {
    const MutexLock lock(mutex_);
    for (ErrorBook::Part& part : errors_.take_changed()) {
      blobs.push_back(
          blob_of(name_of(part.of_jobs ? kFailed : kGroups, part.number), std::move(part.content)));
    }
    if (versions_.changed()) blobs.push_back({std::string(kVersions), versions_.save()});
    position = position_blob();
    changed_ = false;
  }
  blobs.push_back({std::string(kPosition), position});
  const auto stands = tables.put_blobs(blobs, {std::string(kPosition), stored_});
  if (stands && *stands) {
    stored_ = std::move(position);
    to_delete_.clear();
    statistics_.saved();
    return true;
  }
  // It may have been written nevertheless: then the next save reports that another process stored
  // it.
  labels_.change_all();
  const MutexLock lock(mutex_);
  errors_.change_all();
  versions_.change_all();
  changed_ = true;
  return stands;
}

Result<bool> ShardModels::overtaken(store::Tables& tables) const {
  const auto stored = tables.get_blob(std::string(kPosition));
  if (!stored) return std::unexpected(stored.error());
  return *stored != stored_;
}

void ShardModels::set_resolved(ErrorBook::IsResolved is_resolved) {
  const MutexLock lock(mutex_);
  is_resolved_ = std::move(is_resolved);
}

ModelPosition ShardModels::position() const {
  const MutexLock lock(mutex_);
  return position_;
}

ShardModels::Figures ShardModels::figures() const {
  const MutexLock lock(mutex_);
  return {.groups = errors_.groups().size(),
          .evicted_groups = errors_.evicted(),
          .failed_jobs = errors_.failed_jobs(),
          .labelled_jobs = labelled_,
          .passed_over = errors_.passed_over() + unlabelled_,
          .gaps = gaps_};
}

std::optional<ErrorGroup> ShardModels::group(std::uint64_t fingerprint) const {
  const MutexLock lock(mutex_);
  const auto found = errors_.groups().find(fingerprint);
  return found == errors_.groups().end() ? std::nullopt : std::optional(found->second);
}

std::vector<Deploy> ShardModels::deploys() const {
  const MutexLock lock(mutex_);
  return versions_.deploys();
}

}  // namespace millrace::engine
