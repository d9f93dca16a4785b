// Payloads leave memory once the tables hold them, and nothing else changes.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/scenario.h"

namespace millrace::core {
namespace {

std::string_view payload_in(Scenario& s, const std::string& name) {
  return s.machine().view(Scenario::id(name))->job.payload.view();
}

void store(Scenario& s) {
  s.machine().take_changes();
  s.machine().changes_stored();
  s.machine().check_invariants();
}

TEST(Payloads, StayWhileThereIsRoom) {
  Scenario s;
  s.enqueue("a");
  store(s);
  EXPECT_EQ(payload_in(s, "a"), R"({"job":"a"})");
}

TEST(Payloads, AreLetGoOfTheYoungestFirstAndOnlyWhenTheTablesHoldThem) {
  Scenario s;
  s.machine().set_keep_bytes(25);  // two of eleven bytes each
  for (const char* name : {"a", "b", "c", "d"}) s.enqueue(name);
  const auto changes = s.machine().take_changes();
  s.enqueue("e");
  EXPECT_EQ(s.machine().bytes_held(), 55u);
  EXPECT_EQ(changes->jobs.at(3).payload.view(), R"({"job":"d"})");
  s.machine().changes_stored();
  s.machine().check_invariants();
  EXPECT_EQ(s.machine().bytes_held(), 22u);
  EXPECT_EQ(payload_in(s, "a"), R"({"job":"a"})");
  EXPECT_EQ(payload_in(s, "b"), "");
  EXPECT_EQ(payload_in(s, "d"), "");
  EXPECT_EQ(payload_in(s, "e"), R"({"job":"e"})");  // not stored yet
}

TEST(Payloads, AreWrittenOnce) {
  Scenario s;
  s.enqueue("a");
  store(s);
  s.claim();
  const auto changes = s.machine().take_changes();
  ASSERT_EQ(changes->jobs.size(), 1u);
  EXPECT_TRUE(changes->jobs.at(0).payload.empty());  // the tables keep their payload
  s.machine().changes_stored();
  EXPECT_EQ(payload_in(s, "a"), R"({"job":"a"})");
}

TEST(Payloads, AnEditedOneIsWrittenAgainAndStaysUntilThen) {
  Scenario s;
  s.machine().set_keep_bytes(0);
  s.enqueue("a");
  const auto first = s.machine().take_changes();
  Edit edit;
  edit.ids = {Scenario::id("a")};
  edit.payload = SharedBytes("2");
  s.decide(edit);
  s.machine().changes_stored();  // of the payload before
  EXPECT_EQ(payload_in(s, "a"), "2");
  const auto second = s.machine().take_changes();
  ASSERT_EQ(second->jobs.size(), 1u);
  EXPECT_EQ(second->jobs.at(0).payload.view(), "2");
  s.machine().changes_stored();
  EXPECT_EQ(payload_in(s, "a"), "");
}

TEST(Payloads, AJobThatEndsAndIsRetriedGetsItsOwnFromTheTables) {
  class Tables final : public Prefetched {
   public:
    const Job* find(const JobId& id) const override { return id == job.id ? &job : nullptr; }
    Job job;
  } tables;
  Scenario s;
  s.machine().set_keep_bytes(0);
  s.enqueue("a");
  store(s);
  s.claim();
  tables.job = s.machine().view(Scenario::id("a"))->job;
  tables.job.payload = SharedBytes("7");
  s.ack("a", AckOutcome::kDead);

  Retry retry;
  retry.ids = {Scenario::id("a")};
  std::vector<JobId> wanted;
  s.machine().needed(retry, wanted);
  EXPECT_EQ(wanted, retry.ids);
  std::vector<Event> events;
  s.machine().decide(retry, s.now(), tables, Admission::kOpen, events);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(std::get<Retried>(events.at(0)).job.payload.view(), "7");
  EXPECT_EQ(payload_in(s, "a"), "7");
}

TEST(Payloads, GoStepByStepWhenRoomRunsOutLater) {
  Scenario s;
  for (int i = 0; i < 3'000; ++i) s.enqueue("j" + std::to_string(i));
  store(s);
  s.enqueue("new");
  s.machine().set_keep_bytes(0);
  s.machine().restart_letting_go();
  int rounds = 0;
  while (s.machine().let_go_of_payloads(500)) ++rounds;
  EXPECT_GE(rounds, 5);
  s.machine().check_invariants();
  EXPECT_EQ(s.machine().bytes_held(), payload_in(s, "new").size());  // it is nowhere else
}

TEST(Payloads, DecideNothing) {
  const auto events_with = [](std::uint64_t keep_bytes) {
    Scenario s;
    s.machine().set_keep_bytes(keep_bytes);
    s.enqueue("a");
    s.enqueue("b");
    store(s);
    s.claim(2);
    s.ack("a", AckOutcome::kFailed);
    s.wait_ms(60'000);
    store(s);
    return s.machine().digest();
  };
  EXPECT_TRUE(events_with(0) == events_with(1'000'000));
}

}  // namespace
}  // namespace millrace::core
