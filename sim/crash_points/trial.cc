#include "sim/crash_points/trial.h"

#include <algorithm>

namespace millrace::crash_points {
namespace {

constexpr std::array<std::string_view, kTrials.size()> kNames = {
    "killed",         "dropped",  "part",           "torn",      "io-error",
    "io-error-stays", "no-space", "no-space-stays", "short-read"};

bool takes_space(CallKind kind) { return kind == CallKind::kWrite || kind == CallKind::kCreate; }

}  // namespace

std::string_view to_string(Trial trial) { return kNames[static_cast<std::size_t>(trial)]; }

std::optional<Trial> parse_trial(std::string_view name) {
  const auto* const found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Trial>(found - kNames.begin());
}

bool applies(Trial trial, CallKind kind) {
  const bool reads = kind == CallKind::kRead || kind == CallKind::kOpen;
  const bool syncs = kind == CallKind::kSync || kind == CallKind::kSyncDirectory;
  switch (trial) {
    case Trial::kKilled:
    case Trial::kDropped:
    case Trial::kPart:
      return !reads;
    case Trial::kTorn:
      return !reads && !syncs;
    case Trial::kIoError:
    case Trial::kIoErrorStays:
      return true;
    case Trial::kNoSpace:
    case Trial::kNoSpaceStays:
      return takes_space(kind);
    case Trial::kShortRead:
      return kind == CallKind::kRead;
  }
  return false;
}

std::optional<Death> death_of(Trial trial) {
  if (trial > Trial::kTorn) return std::nullopt;
  return static_cast<Death>(trial);
}

Verdict verdict_of(Trial trial) {
  switch (trial) {
    case Trial::kNoSpace:
    case Trial::kNoSpaceStays:
      return Verdict::kNoSpace;
    case Trial::kShortRead:
      return Verdict::kShortRead;
    default:
      return Verdict::kIoError;
  }
}

bool stays_for(Trial trial, CallKind first, CallKind kind) {
  if (trial == Trial::kNoSpaceStays) return takes_space(kind);
  return trial == Trial::kIoErrorStays && kind == first;
}

}  // namespace millrace::crash_points
