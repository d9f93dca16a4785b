// The events that can happen to one call to the disk.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/crash_points/disk.h"

namespace millrace::crash_points {

enum class Trial : std::uint8_t {
  // Deaths just before the call, or during it: see Death.
  kKilled,
  kDropped,
  kPart,
  kTorn,
  // The call fails: once, or with all calls of its kind until the disk recovers a little later.
  kIoError,
  kIoErrorStays,
  kNoSpace,
  kNoSpaceStays,
  kShortRead,
};

inline constexpr std::array kTrials = {Trial::kKilled,  Trial::kDropped,      Trial::kPart,
                                       Trial::kTorn,    Trial::kIoError,      Trial::kIoErrorStays,
                                       Trial::kNoSpace, Trial::kNoSpaceStays, Trial::kShortRead};

std::string_view to_string(Trial trial);
std::optional<Trial> parse_trial(std::string_view name);

bool applies(Trial trial, CallKind kind);

// None: the call fails instead.
std::optional<Death> death_of(Trial trial);
Verdict verdict_of(Trial trial);

// Whether a persistent `trial` that struck a call of kind `first` also strikes this one.
bool stays_for(Trial trial, CallKind first, CallKind kind);

}  // namespace millrace::crash_points
