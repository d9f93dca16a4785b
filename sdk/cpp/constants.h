// The times and bounds that all SDKs share: the table in sdk/conformance/README.md. Two of them are
// defaults of WorkerOptions.
#pragma once

#include <chrono>
#include <cstddef>

namespace millrace::sdk {

constexpr std::chrono::milliseconds kFirstPause{100};
constexpr std::chrono::milliseconds kLongestPause{5'000};
constexpr std::chrono::milliseconds kLongestWait{60'000};
constexpr std::chrono::milliseconds kCommitPatience{2'000};
constexpr std::chrono::milliseconds kCommitPause{100};
constexpr std::size_t kManyOutcomes = 64;
constexpr std::size_t kMostItems = 1'000;
constexpr std::size_t kMostMembers = 10'000;
constexpr std::size_t kMostOutcomeBytes = 4 << 20;
constexpr std::size_t kSlowLineBytesPerS = 256 << 10;
constexpr std::chrono::milliseconds kPauseAfterRefusal{200};
constexpr std::chrono::milliseconds kLeastPatience{500};
constexpr std::chrono::milliseconds kYoungClaim{500};
constexpr std::chrono::milliseconds kLastSecond{1'000};
constexpr std::chrono::milliseconds kRefusedFlush{2'000};
constexpr std::chrono::milliseconds kGoodbye{1'000};
constexpr std::chrono::milliseconds kQuietPoll{2'000};

}  // namespace millrace::sdk
