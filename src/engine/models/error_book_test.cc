#include "engine/models/error_book.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/jobs/error_fingerprint.h"

namespace millrace::engine {
namespace {

constexpr Time kStart = time_from_ms(1'700'000'040'000);
constexpr Duration kHour{3'600'000};

JobId id_of(int number) {
  JobId id;
  id.bytes[14] = static_cast<std::uint8_t>(number >> 8);
  id.bytes[15] = static_cast<std::uint8_t>(number);
  return id;
}

core::JobRef ref(int job, const std::string& queue = "mail") {
  return {id_of(job), SharedBytes(queue), SharedBytes("send"), 1};
}

core::AttemptEnded failed(int job, const std::string& message, core::State state,
                          const std::string& queue = "mail") {
  core::AttemptEnded ended;
  ended.job = ref(job, queue);
  ended.worker = SharedBytes("w1");
  ended.outcome = core::AttemptOutcome::kFailed;
  ended.state = state;
  auto error = std::make_shared<core::JobError>();
  error->type = SharedBytes("Timeout");
  error->message = SharedBytes(message);
  error->fingerprint = core::error_fingerprint("Timeout", message);
  ended.error = error;
  return ended;
}

struct Book {
  ErrorBook book;
  std::set<std::uint64_t> resolved;

  explicit Book(std::size_t groups = 100, std::size_t jobs = 100) : book(groups, jobs) {}
  template <typename... Events>
  void take(Time at, Events... events) {
    core::EventBatch batch;
    batch.at = at;
    (batch.events.emplace_back(events), ...);
    book.take(
        batch,
        [](std::string_view worker, Time) -> std::string_view {
          return worker == "w1" ? "1.0" : "";
        },
        [this](std::uint64_t fingerprint, Time) { return resolved.contains(fingerprint); });
  }
  const ErrorGroup& only() const {
    EXPECT_EQ(book.groups().size(), 1U);
    return book.groups().begin()->second;
  }
};

TEST(ErrorBook, GroupsWhatDiffersOnlyInItsVariableParts) {
  Book of;
  of.take(kStart, failed(1, "no answer from 'smtp-1' in 30s", core::State::kRetrying),
          failed(2, "no answer from 'smtp-2' in 7s", core::State::kDead, "fax"));
  const ErrorGroup& group = of.only();
  EXPECT_EQ(group.message, "no answer from <text> in #");
  EXPECT_EQ(group.error_type, "Timeout");
  EXPECT_EQ(group.queues, (std::vector<std::string>{"mail", "fax"}));
  EXPECT_EQ(group.total, 2U);
  EXPECT_EQ(group.waiting, 2U);
  EXPECT_EQ(group.dead, 1U);
  ASSERT_EQ(group.versions.size(), 1U);
  EXPECT_EQ(group.versions[0].count, 2U);
  EXPECT_EQ(group.sample.size(), 2U);
}

TEST(ErrorBook, AJobWaitsUntilItLeaves) {
  Book of;
  const auto waiting = [&] { return of.only().waiting; };
  of.take(kStart, failed(1, "m", core::State::kRetrying), failed(2, "m", core::State::kDead),
          failed(3, "m", core::State::kDead), failed(4, "m", core::State::kRetrying));
  EXPECT_EQ(waiting(), 4U);
  of.take(kStart, core::BecameDue{{ref(1)}});
  EXPECT_EQ(waiting(), 3U);
  core::Retried retried;
  retried.job.id = id_of(2);
  of.take(kStart, retried);
  of.take(kStart, core::Deleted{core::DeleteCause::kOperator, {{ref(3), core::State::kDead, {}}}});
  EXPECT_EQ(waiting(), 1U);
  EXPECT_EQ(of.only().dead, 0U);
  of.take(kStart, core::Cancelled{ref(4), {}, core::Keep::kRetained});
  EXPECT_EQ(waiting(), 0U);
  // A different error moves it to another group.
  of.take(kStart, failed(5, "m", core::State::kRetrying));
  of.take(kStart, failed(5, "another", core::State::kRetrying));
  EXPECT_EQ(of.book.groups().size(), 2U);
  std::uint64_t all = 0;
  for (const auto& [fingerprint, group] : of.book.groups()) all += group.waiting;
  EXPECT_EQ(all, 1U);
  EXPECT_EQ(of.book.failed_jobs(), 1U);
}

TEST(ErrorBook, ItsTrendIsOfTheLastDay) {
  Book of;
  for (int hour = 0; hour < 30; ++hour) {
    of.take(kStart + hour * kHour, failed(1, "m", core::State::kRetrying));
  }
  const ErrorGroup& group = of.only();
  EXPECT_EQ(group.hours.size(), kTrendHours);
  EXPECT_EQ(group.total, 30U);
  EXPECT_EQ(group.first_seen, kStart);
  EXPECT_EQ(group.sample.size(), 1U);  // one job
}

// One past the bound: the least recently seen resolved ones go first, then the oldest.
TEST(ErrorBook, ResolvedGroupsMakeRoomFirst) {
  Book of(3);
  const auto print = [](const std::string& message) {
    return core::error_fingerprint("Timeout", message);
  };
  for (const std::string message : {"a", "b", "c"}) {
    of.take(kStart + Duration{message[0]}, failed(message[0], message, core::State::kDead));
  }
  of.resolved = {print("b")};
  of.take(kStart + kHour, failed(1, "d", core::State::kDead));
  EXPECT_EQ(of.book.groups().size(), 3U);
  EXPECT_FALSE(of.book.groups().contains(print("b")));
  of.take(kStart + kHour, failed(2, "e", core::State::kDead));
  EXPECT_FALSE(of.book.groups().contains(print("a")));
  EXPECT_EQ(of.book.evicted(), 2U);
  EXPECT_EQ(of.book.failed_jobs(), 3U);  // jobs of removed groups no longer count
}

TEST(ErrorBook, JobsBeyondTheBoundDoNotWait) {
  Book of(10, 2);
  for (int job = 1; job <= 3; ++job) of.take(kStart, failed(job, "m", core::State::kDead));
  EXPECT_EQ(of.only().total, 3U);
  EXPECT_EQ(of.only().waiting, 2U);
  EXPECT_EQ(of.book.passed_over(), 1U);
}

TEST(ErrorBook, IsTheSameAfterItWasStored) {
  Book before;
  for (int job = 0; job < 90; ++job) {
    before.take(kStart + job * kHour,
                failed(job, std::string(1, static_cast<char>('a' + job % 7)),
                       job % 2 == 0 ? core::State::kDead : core::State::kRetrying));
  }
  Book after;
  const auto parts = before.book.take_changed();
  EXPECT_TRUE(before.book.take_changed().empty());
  for (const auto& part : parts) {
    if (!part.of_jobs && !part.content.empty()) EXPECT_TRUE(after.book.load_groups(part.content));
  }
  for (const auto& part : parts) {
    if (part.of_jobs && !part.content.empty()) EXPECT_TRUE(after.book.load_jobs(part.content));
  }
  ASSERT_EQ(after.book.groups().size(), before.book.groups().size());
  after.book.change_all();
  before.book.change_all();
  const auto stored = [](ErrorBook& book) {
    std::string all;
    for (const auto& part : book.take_changed()) all += part.content + "|";
    return all;
  };
  EXPECT_EQ(stored(after.book), stored(before.book));
  for (const auto& [fingerprint, group] : before.book.groups()) {
    EXPECT_EQ(after.book.groups().at(fingerprint).waiting, group.waiting);
    EXPECT_EQ(after.book.groups().at(fingerprint).dead, group.dead);
  }
}

TEST(ErrorBook, TakesNothingFromADamagedPart) {
  Book before;
  before.take(kStart, failed(1, "m", core::State::kDead));
  for (const auto& part : before.book.take_changed()) {
    if (part.content.empty()) continue;
    for (std::size_t i = 0; i < part.content.size(); ++i) {
      std::string damaged = part.content;
      damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
      Book after;
      EXPECT_FALSE(part.of_jobs ? after.book.load_jobs(damaged) : after.book.load_groups(damaged));
    }
  }
}

}  // namespace
}  // namespace millrace::engine
