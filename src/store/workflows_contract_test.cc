// The contract of every store's tables for workflows: store/tables.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/arbitrary.h"
#include "core/same.h"
#include "core/workflows/workflow_fields.h"
#include "store/testing/jobs.h"
#include "store/testing/store_under_test.h"
#include "store/workflow_rows.h"

namespace millrace::store {
namespace {

using core::Arbitrary;
using core::MemberState;
using core::State;
using core::Workflow;
using core::WorkflowState;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using std::chrono_literals::operator""ms;

constexpr std::uint32_t kAll = std::numeric_limits<std::uint32_t>::max();

core::MemberSpec make_member(std::uint32_t number) {
  core::MemberSpec spec;
  spec.ref = SharedBytes("m" + std::to_string(number));
  if (number > 0) spec.needs = {{core::MemberNumber{number - 1}, core::NeedOn::kEnded}};
  spec.queue = SharedBytes("mail");
  spec.job = SharedBytes("job " + std::to_string(number));
  return spec;
}
core::MemberFate make_fate(std::uint32_t number) {
  return {number % 3 == 0 ? MemberState::kSucceeded : MemberState::kBlocked,
          core::MemberReason::kNone, number % 3 == 0 ? 1U : 0U};
}

// Number `n`, created a second after the one before.
Workflow make_workflow(std::uint64_t n, std::uint32_t members = 0) {
  Workflow workflow;
  workflow.id = id_of(n);
  workflow.spec.queue = SharedBytes("mail");
  workflow.created_at = time_from_ms(static_cast<std::int64_t>(n) * 1'000);
  workflow.members = members;
  for (std::uint32_t i = 0; i < members; ++i) {
    ++workflow.counts[static_cast<std::size_t>(make_fate(i).state)];
  }
  return workflow;
}
Workflow ended(Workflow workflow, WorkflowState state, std::int64_t at_ms) {
  workflow.state = state;
  workflow.ended_at = time_from_ms(at_ms);
  return workflow;
}

core::MemberChunk chunk_of(const JobId& workflow, std::uint32_t first, std::uint32_t count) {
  core::MemberChunk chunk{workflow, first, {}};
  for (std::uint32_t i = 0; i < count; ++i) chunk.members.push_back(make_member(first + i));
  return chunk;
}
core::FatePage page_of(const JobId& workflow, std::uint32_t first, std::uint32_t count) {
  core::FatePage page{workflow, first, {}};
  for (std::uint32_t i = 0; i < count; ++i) page.fates.push_back(make_fate(first + i));
  return page;
}

// The rows of a new workflow.
core::Changes rows_of(const Workflow& workflow) {
  core::Changes changes;
  changes.workflows = {workflow};
  for (std::uint32_t first = 0; first < workflow.members; first += core::kMembersPerChunk) {
    const std::uint32_t count = std::min(core::kMembersPerChunk, workflow.members - first);
    changes.member_chunks.push_back(chunk_of(workflow.id, first, count));
  }
  for (std::uint32_t first = 0; first < workflow.members; first += core::kFatesPerPage) {
    const std::uint32_t count = std::min(core::kFatesPerPage, workflow.members - first);
    changes.fate_pages.push_back(page_of(workflow.id, first, count));
  }
  return changes;
}

void expect_members(const core::WorkflowImage& image, std::uint32_t first, std::uint32_t count) {
  EXPECT_EQ(image.first, first);
  ASSERT_EQ(image.members.size(), count);
  ASSERT_EQ(image.fates.size(), count);
  for (std::uint32_t i = 0; i < count; ++i) {
    ASSERT_TRUE(image.members[i] == make_member(first + i)) << first + i;
    ASSERT_TRUE(image.fates[i] == make_fate(first + i)) << first + i;
  }
}

class WorkflowsContract : public StoreContract {
 protected:
  void flush(const core::Changes& changes) {
    const Status done = flusher_.flush(tables(), changes);
    ASSERT_TRUE(done) << done.error().message;
  }
  void flush(std::vector<Workflow> workflows) {
    core::Changes changes;
    changes.workflows = std::move(workflows);
    flush(changes);
  }
  std::optional<core::WorkflowImage> image(std::uint64_t n, std::uint32_t first = 0,
                                           std::uint32_t count = kAll) {
    auto read = tables().workflow(id_of(n), first, count);
    EXPECT_TRUE(read) << read.error().message;
    return std::move(*read);
  }
  std::vector<core::WorkflowImage> load() {
    LoadedState state;
    const Status done = tables().load(state);
    EXPECT_TRUE(done) << done.error().message;
    return state.workflows;
  }
  // The numbers of make_workflow(), by pages of `limit`.
  std::vector<std::int64_t> list(WorkflowQuery query, std::uint32_t limit = 2) {
    query.limit = limit;
    std::vector<std::int64_t> found;
    do {
      const auto page = tables().list_workflows(query);
      EXPECT_TRUE(page) << page.error().message;
      EXPECT_LE(page->workflows.size(), limit);
      for (const Workflow& workflow : page->workflows) {
        found.push_back(to_ms(workflow.created_at) / 1'000);
      }
      query.after = page->next_after;
    } while (query.after);
    return found;
  }
  std::vector<JobId> over(State state, std::int64_t until_ms, std::uint32_t limit = 9) {
    return tables()
        .finished_workflows_until(SharedBytes("mail"), state, time_from_ms(until_ms), limit)
        .value();
  }
  std::optional<Time> oldest(State state) {
    return tables().oldest_finished_workflow(SharedBytes("mail"), state).value();
  }

  Flusher flusher_;
};
MILLRACE_EVERY_STORE(WorkflowsContract);

TEST_P(WorkflowsContract, GivesBackEveryMember) {
  Arbitrary make(1);
  std::vector<Workflow> workflows;
  for (std::uint64_t n = 100; n < 300; ++n) {
    auto workflow = make.any<Workflow>();
    workflow.id = id_of(n);
    workflow.spec.queue = make.name();  // PostgreSQL keeps it as text, too
    workflow.members = 0;
    workflows.push_back(workflow);
  }
  flush(workflows);
  reopen();
  for (const Workflow& workflow : workflows) {
    const auto read = tables().workflow(workflow.id, 0, 1).value();
    ASSERT_TRUE(read);
    ASSERT_TRUE(read->workflow == workflow);
  }
}

TEST_P(WorkflowsContract, GivesBackMembersByNumber) {
  flush(rows_of(make_workflow(1, 2'500)));
  flush(rows_of(make_workflow(2, 3)));
  reopen();
  expect_members(*image(1), 0, 2'500);
  expect_members(*image(1, 255, 2), 255, 2);
  expect_members(*image(1, 1'000, 300), 1'000, 300);
  expect_members(*image(1, 2'499, 10), 2'499, 1);
  expect_members(*image(1, 2'500, 10), 2'500, 0);
  expect_members(*image(1, 9'999, 10), 2'500, 0);
  expect_members(*image(1, 7, 0), 7, 0);
  expect_members(*image(2), 0, 3);
  EXPECT_EQ(image(3), std::nullopt);
}

TEST_P(WorkflowsContract, LoadsWhatMayChange) {
  Workflow calls_back = ended(make_workflow(3), WorkflowState::kSucceeded, 50);
  calls_back.callbacks = {{core::MemberRole::kOnEnd, id_of(9), false}};
  Workflow failed = ended(make_workflow(4, 1), WorkflowState::kFailed, 50);
  failed.counts = {0, 0, 0, 1, 0};
  core::Changes changes = rows_of(failed);
  changes.fate_pages[0].fates[0] = {MemberState::kFailed, core::MemberReason::kDead, 1};
  flush(changes);
  flush(rows_of(make_workflow(1, 300)));
  flush({calls_back, ended(make_workflow(2), WorkflowState::kSucceeded, 50)});
  reopen();
  const auto loaded = load();
  ASSERT_EQ(loaded.size(), 3U);
  expect_members(loaded[0], 0, 300);
  EXPECT_TRUE(loaded[0].workflow == make_workflow(1, 300));
  EXPECT_TRUE(loaded[1].workflow == calls_back);
  EXPECT_TRUE(loaded[2].workflow == failed);
  EXPECT_EQ(loaded[2].fates.at(0).reason, core::MemberReason::kDead);

  calls_back.callbacks[0].ended = true;
  flush({calls_back});
  EXPECT_EQ(load().size(), 2U);
}

TEST_P(WorkflowsContract, WhatIsFlushedAgainIsReplaced) {
  Workflow workflow = make_workflow(1, 1'500);
  flush(rows_of(workflow));
  workflow.version = 7;
  workflow.state = WorkflowState::kStopping;
  core::Changes changes;
  changes.workflows = {workflow};
  changes.fate_pages = {page_of(workflow.id, 1'024, 476)};
  changes.fate_pages[0].fates[1] = {MemberState::kSkipped, core::MemberReason::kByCall, 5};
  flush(changes);
  reopen();
  const auto found = image(1);
  EXPECT_TRUE(found->workflow == workflow);
  EXPECT_EQ(found->fates[1'025].round, 5U);
  EXPECT_TRUE(found->fates[1'026] == make_fate(1'026));
  expect_members(*image(1, 0, 1'024), 0, 1'024);
}

TEST_P(WorkflowsContract, GrowsByChunksOfAnySize) {
  Workflow workflow = make_workflow(1, 100);
  flush(rows_of(workflow));
  core::Changes changes;
  changes.workflows = {make_workflow(1, 400)};
  changes.member_chunks = {chunk_of(workflow.id, 100, 256), chunk_of(workflow.id, 356, 44)};
  changes.fate_pages = {page_of(workflow.id, 0, 400)};
  flush(changes);
  reopen();
  expect_members(*image(1), 0, 400);
  expect_members(*image(1, 355, 2), 355, 2);
}

TEST_P(WorkflowsContract, ADeletedOneIsGoneWithItsRows) {
  flush(rows_of(make_workflow(1, 300)));
  flush(rows_of(make_workflow(2, 3)));
  core::Changes changes = rows_of(make_workflow(3, 1));
  changes.deleted_workflows = {id_of(1), id_of(9)};
  flush(changes);
  reopen();
  EXPECT_EQ(image(1), std::nullopt);
  EXPECT_EQ(load().size(), 2U);
  // Its id is used again, by a smaller one: nothing is left.
  flush(rows_of(make_workflow(1, 2)));
  expect_members(*image(1), 0, 2);
  expect_members(*image(2), 0, 3);
}

TEST_P(WorkflowsContract, AMissingRowIsAnError) {
  core::Changes changes = rows_of(make_workflow(1, 300));
  changes.member_chunks.pop_back();
  flush(changes);
  const auto read = tables().workflow(id_of(1), 0, kAll);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, ::testing::HasSubstr("the member 256 is missing"));
  expect_members(*image(1, 0, 256), 0, 256);
  LoadedState state;
  EXPECT_FALSE(tables().load(state));
}

TEST_P(WorkflowsContract, ListsTheNewestFirst) {
  std::vector<Workflow> workflows;
  for (std::uint64_t n = 1; n <= 5; ++n) workflows.push_back(make_workflow(n));
  workflows[3].created_at = workflows[2].created_at;  // then the higher id is first
  flush(workflows);
  EXPECT_THAT(list({}), ElementsAre(5, 3, 3, 2, 1));
  EXPECT_THAT(list({}, 1), ElementsAre(5, 3, 3, 2, 1));
  EXPECT_THAT(list({}, 9), ElementsAre(5, 3, 3, 2, 1));
  const auto page = tables().list_workflows({.limit = 2}).value();
  EXPECT_EQ(page.workflows[1].id, id_of(4));
  EXPECT_EQ(page.next_after, (WorkflowCursor{workflows[3].created_at, id_of(4)}));
}

TEST_P(WorkflowsContract, ListsWhatIsAskedFor) {
  Workflow named = make_workflow(1);
  named.spec.name = SharedBytes("nightly");
  named.spec.tags = {SharedBytes("eu"), SharedBytes("bulk")};
  Workflow elsewhere = make_workflow(2);
  elsewhere.spec.queue = SharedBytes("video.high");
  elsewhere.spec.tags = {SharedBytes("eu")};
  flush({named, elsewhere, ended(make_workflow(3), WorkflowState::kFailed, 9),
         ended(make_workflow(4), WorkflowState::kCancelled, 9)});
  EXPECT_THAT(list({.states = {WorkflowState::kFailed, WorkflowState::kRunning}}),
              ElementsAre(3, 2, 1));
  EXPECT_THAT(list({.states = {WorkflowState::kStuck}}), IsEmpty());
  EXPECT_THAT(list({.queues = {"video.*"}}), ElementsAre(2));
  EXPECT_THAT(list({.queues = {"mail", "video.high"}}), ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(list({.queues = {"video"}}), IsEmpty());
  EXPECT_THAT(list({.name = "nightly"}), ElementsAre(1));
  EXPECT_THAT(list({.tag = "eu"}), ElementsAre(2, 1));
  EXPECT_THAT(list({.name = "nightly", .tag = "bulk"}), ElementsAre(1));
  EXPECT_THAT(list({.created_after = time_from_ms(2'000), .created_before = time_from_ms(4'000)}),
              ElementsAre(3, 2));
}

TEST_P(WorkflowsContract, AListEndsWhenItsCallerIsGone) {
  flush({make_workflow(1), make_workflow(2)});
  std::stop_source caller;
  caller.request_stop();
  WorkflowQuery query;
  query.budget = ReadBudget(1'000ms, caller.get_token());
  // A page that ends early says where the next one begins, or there is none.
  std::size_t found = 0;
  for (int pages = 0; pages < 3; ++pages) {
    const auto page = tables().list_workflows(query).value();
    found += page.workflows.size();
    if (!page.next_after) break;
    query.after = page.next_after;
    query.budget = ReadBudget(1'000ms);
  }
  EXPECT_EQ(found, 2U);
}

TEST_P(WorkflowsContract, RetentionFindsThoseThatAreOver) {
  Workflow calls_back = ended(make_workflow(5), WorkflowState::kSucceeded, 10);
  calls_back.callbacks = {{core::MemberRole::kOnSuccess, id_of(9), false}};
  Workflow elsewhere = ended(make_workflow(6), WorkflowState::kSucceeded, 10);
  elsewhere.spec.queue = SharedBytes("other");
  flush({ended(make_workflow(1), WorkflowState::kSucceeded, 30),
         ended(make_workflow(2), WorkflowState::kSucceeded, 20),
         ended(make_workflow(3), WorkflowState::kFailed, 15),
         ended(make_workflow(4), WorkflowState::kCancelled, 16), calls_back, elsewhere,
         make_workflow(7)});
  EXPECT_THAT(over(State::kSucceeded, 30), ElementsAre(id_of(2), id_of(1)));
  EXPECT_THAT(over(State::kSucceeded, 29), ElementsAre(id_of(2)));
  EXPECT_THAT(over(State::kSucceeded, 99, 1), ElementsAre(id_of(2)));
  EXPECT_THAT(over(State::kDead, 99), ElementsAre(id_of(3)));
  EXPECT_THAT(over(State::kCancelled, 99), ElementsAre(id_of(4)));
  EXPECT_THAT(over(State::kExpired, 99), IsEmpty());
  EXPECT_EQ(oldest(State::kSucceeded), time_from_ms(20));
  EXPECT_EQ(oldest(State::kDead), time_from_ms(15));
  EXPECT_EQ(oldest(State::kExpired), std::nullopt);

  calls_back.callbacks[0].ended = true;
  flush({calls_back});
  EXPECT_EQ(oldest(State::kSucceeded), time_from_ms(10));
}

// --- Their jobs.

core::Job job_of(std::uint64_t ord, std::uint64_t workflow, bool kept,
                 State state = State::kSucceeded) {
  core::Job job = make_job(ord, "mail", state);
  core::Membership member;
  member.workflow = id_of(workflow);
  member.number = static_cast<std::uint32_t>(ord);
  member.kept = kept;
  core::JobExtras extras;
  extras.member = std::make_shared<const core::Membership>(member);
  job.extras = std::make_shared<const core::JobExtras>(extras);
  return job;
}

TEST_P(WorkflowsContract, FindsTheJobsOfOne) {
  core::Changes changes;
  changes.queues = {make_queue("mail")};
  changes.jobs = {make_job(1), job_of(2, 100, true), job_of(3, 200, true),
                  job_of(4, 100, false, State::kReady), job_of(5, 100, true, State::kDead)};
  flush(changes);
  reopen();
  JobQuery query;
  query.filter.workflow = id_of(100);
  query.limit = 2;
  const auto ords = [&] {
    std::vector<std::uint64_t> found;
    for (const core::Job& job : tables().list(query)->jobs) found.push_back(job.ord);
    return found;
  };
  EXPECT_THAT(ords(), ElementsAre(5, 4));
  query.after_ord = tables().list(query)->next_after_ord;
  EXPECT_THAT(ords(), ElementsAre(2));
  EXPECT_EQ(tables().count(query.filter, 100, 1'000ms).value(), 3U);
  query.filter.conditions = {
      {core::JobField::kState, core::Comparison::kEqual, false, {"dead", "ready"}, 0, 0, {}}};
  query.after_ord.reset();
  EXPECT_THAT(ords(), ElementsAre(5, 4));
  query.filter.conditions[0] = {
      core::JobField::kId, core::Comparison::kEqual, false, {to_string(id_of(2))}, 0, 0, {}};
  EXPECT_THAT(ords(), ElementsAre(2));
  query.filter.workflow = id_of(300);
  EXPECT_THAT(ords(), IsEmpty());
}

TEST_P(WorkflowsContract, RetentionLeavesJobsThatAreKept) {
  core::Changes changes;
  changes.queues = {make_queue("mail")};
  changes.jobs = {job_of(1, 100, true), job_of(2, 100, false),
                  make_job(3, "mail", State::kSucceeded)};
  flush(changes);
  reopen();
  const SharedBytes mail("mail");
  const Time until = time_from_ms(9'000'000);
  EXPECT_THAT(tables().finished_until(mail, State::kSucceeded, until, 9).value(),
              ElementsAre(id_of(2), id_of(3)));
  EXPECT_EQ(tables().oldest_finished(mail, State::kSucceeded).value(), changes.jobs[1].finished_at);
  // They have ended all the same.
  for (const core::Job& job : changes.jobs) {
    EXPECT_EQ(tables().fetch({job.id})->at(0).finished_at, job.finished_at);
  }
  JobQuery query;
  query.filter.conditions = {{core::JobField::kFinishedAt,
                              core::Comparison::kLessEqual,
                              false,
                              {},
                              to_ms(*changes.jobs[0].finished_at),
                              0,
                              {}}};
  ASSERT_EQ(tables().list(query)->jobs.size(), 1U);
  EXPECT_EQ(tables().list(query)->jobs[0].ord, 1U);
}

// --- A follower that takes over repeats some changes (FlushBase), in chunks of its own.

class SharedWorkflows : public WorkflowsContract {};
INSTANTIATE_TEST_SUITE_P(SharedStores, SharedWorkflows,
                         ::testing::Values(StoreKind::kMemory, StoreKind::kPostgres), kind_name);

TEST_P(SharedWorkflows, AFollowersRowsMayOverlap) {
  const auto flush_from = [&](const core::Changes& changes, FlushBase since, std::uint64_t seq) {
    const Progress to{Seq{seq}, {seq, 77}, {}};
    const Status done = tables().flush(changes, since, to);
    ASSERT_TRUE(done) << done.error().message;
  };
  // The leader: 100 members, then 50 more.
  flush_from(rows_of(make_workflow(1, 100)), Seq{}, 1);
  core::Changes more;
  more.workflows = {make_workflow(1, 150)};
  more.member_chunks = {chunk_of(id_of(1), 100, 50)};
  more.fate_pages = {page_of(id_of(1), 0, 150)};
  flush_from(more, Seq{1}, 2);
  // The follower: 30 at the beginning, and then, in other pieces, all up to 400.
  core::Changes again;
  again.workflows = {make_workflow(1, 400)};
  again.member_chunks = {chunk_of(id_of(1), 30, 256), chunk_of(id_of(1), 286, 114)};
  again.fate_pages = {page_of(id_of(1), 0, 400)};
  flush_from(again, {Seq{1}, Seq{2}}, 3);
  reopen();
  expect_members(*image(1), 0, 400);
  expect_members(*image(1, 120, 40), 120, 40);
  const auto loaded = load();
  ASSERT_EQ(loaded.size(), 1U);
  expect_members(loaded[0], 0, 400);

  core::Changes gone;
  gone.deleted_workflows = {id_of(1)};
  flush_from(gone, Seq{3}, 4);
  EXPECT_EQ(image(1), std::nullopt);
}

}  // namespace
}  // namespace millrace::store
