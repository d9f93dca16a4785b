// For tests of the judge: facts as the engine, the catalog and the node give them.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

#include "service/findings/judge.h"

namespace millrace::service {

inline constexpr Time kJudged = time_from_ms(1'800'000'000'000);

class JudgeTest : public ::testing::Test {
 protected:
  // Since the last call.
  api::Findings findings() {
    api::Findings answer;
    found_.finish(answer);
    found_ = FindingList(10);
    return answer;
  }
  // The only finding; none: there is none, or there are several.
  std::optional<api::Finding> only() {
    api::Findings answer = findings();
    if (answer.items.size() != 1) return std::nullopt;
    return std::move(answer.items.front());
  }
  // The only finding, if it has this code and severity.
  std::optional<api::Finding> only(api::FindingCode code, api::Severity severity) {
    auto one = only();
    if (!one || one->code != code || one->severity != severity) return std::nullopt;
    return one;
  }
  bool nothing() { return findings().items.empty(); }

  api::FindingsQuery at_{};
  FindingList found_{10};
  Judge judge_{at_, kJudged, found_};
};

}  // namespace millrace::service
