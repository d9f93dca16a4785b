// Reads over the tables of several shards. event_feed_test.cc and the stores' own tests test one
// shard.
#include "engine/reads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/random.h"
#include "engine/shard/shards_testing.h"

namespace millrace::engine {
namespace {

using std::chrono_literals::operator""s;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

Time at(std::int64_t ms) { return time_from_ms(1'700'000'000'000 + ms); }

std::vector<JobId> ids_of(const std::vector<core::Job>& jobs) {
  std::vector<JobId> ids;
  for (const core::Job& job : jobs) ids.push_back(job.id);
  return ids;
}

// A few jobs at a time on any shard, many of them in the same millisecond.
class ManyJobs {
 public:
  explicit ManyJobs(std::uint64_t seed)
      : random(seed), shards(static_cast<ShardNumber>(1 + random.next() % 5)) {
    for (std::uint64_t left = random.next() % 50; left > 0; --left) submit();
  }
  void submit() {
    now_ += static_cast<std::int64_t>(random.next() % 3);
    const auto shard = static_cast<ShardNumber>(random.next() % shards.shards());
    all_.push_back({shard, shards.add_job(shard, at(now_))});
  }
  // As a list shows them.
  std::vector<JobId> newest_first() {
    std::ranges::sort(all_, [](const Placed& a, const Placed& b) {
      if (a.job.created_at != b.job.created_at) return a.job.created_at > b.job.created_at;
      return a.shard != b.shard ? a.shard < b.shard : a.job.ord > b.job.ord;
    });
    std::vector<JobId> ids;
    for (const Placed& placed : all_) ids.push_back(placed.job.id);
    return ids;
  }
  // Makes some shards too slow, until the next call.
  void slow_down() {
    for (ShardNumber shard = 0; shard < shards.shards(); ++shard) {
      const bool slow = random.next() % 3 == 0;
      shards.tables(shard).most_listed = slow ? static_cast<std::uint32_t>(random.next() % 3)
                                              : std::numeric_limits<std::uint32_t>::max();
    }
  }

  Random random;
  ShardsForTests shards;

 private:
  struct Placed {
    ShardNumber shard = 0;
    core::Job job;
  };
  std::vector<Placed> all_;
  std::int64_t now_ = 0;
};

// Workflows on any shard, many of them in the same millisecond.
class ManyWorkflows {
 public:
  explicit ManyWorkflows(std::uint64_t seed)
      : random(seed), shards(static_cast<ShardNumber>(1 + random.next() % 5)) {
    std::vector<core::Changes> changes(shards.shards());
    std::int64_t now = 0;
    for (std::uint64_t left = random.next() % 50; left > 0; --left) {
      now += static_cast<std::int64_t>(random.next() % 3);
      const auto shard = static_cast<ShardNumber>(random.next() % shards.shards());
      core::Workflow workflow;
      workflow.spec.queue = SharedBytes(shards.queue(shard));
      workflow.created_at = at(now);
      workflow.id = make_job_id(at(now), queue_bits(shards.queue(shard)), random.next());
      places_.insert({workflow.created_at, workflow.id});
      changes[shard].workflows.push_back(std::move(workflow));
    }
    for (ShardNumber shard = 0; shard < shards.shards(); ++shard) {
      std::ranges::sort(changes[shard].workflows, {}, &core::Workflow::id);
      store::Flusher flusher;
      MILLRACE_CHECK(flusher.flush(shards.tables(shard), changes[shard]).has_value());
    }
  }
  std::vector<JobId> newest_first() const {
    std::vector<JobId> ids;
    for (auto place = places_.rbegin(); place != places_.rend(); ++place) {
      ids.push_back(place->second);
    }
    return ids;
  }

  Random random;
  ShardsForTests shards;

 private:
  std::set<std::pair<Time, JobId>> places_;
};

TEST(ReadsOfShards, ListEachWorkflowOnceInOrderHoweverItIsCutIntoPages) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    ManyWorkflows world(seed);
    const Reads reads(world.shards.all_tables());
    store::WorkflowQuery query;
    std::vector<JobId> shown;
    do {
      query.limit = static_cast<std::uint32_t>(1 + world.random.next() % 7);
      const auto page = reads.list_workflows(query);
      ASSERT_TRUE(page.has_value());
      ASSERT_LE(page->workflows.size(), query.limit);
      for (const core::Workflow& workflow : page->workflows) shown.push_back(workflow.id);
      query.after = page->next_after;
    } while (query.after);
    ASSERT_EQ(shown, world.newest_first()) << "seed " << seed;
    for (const JobId& id : shown) {
      core::GetWorkflow get;
      get.id = id;
      const auto found = reads.workflow(get);
      ASSERT_TRUE(found.has_value() && found->has_value());
      EXPECT_EQ((*found)->workflow->id, id);
    }
  }
}

TEST(ReadsOfShards, ListEachJobOnceInOrderHoweverItIsCutIntoPages) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    ManyJobs world(seed);
    const Reads reads(world.shards.all_tables());
    const std::vector<JobId> expected = world.newest_first();
    JobQuery query;
    std::vector<JobId> shown;
    for (int pages = 0;; ++pages) {
      ASSERT_LT(pages, 1'000) << seed;
      world.slow_down();
      query.limit = static_cast<std::uint32_t>(1 + world.random.next() % 9);
      const auto page = reads.list(query);
      ASSERT_TRUE(page) << page.error().message;
      EXPECT_LE(page->jobs.size(), query.limit);
      std::ranges::move(ids_of(page->jobs), std::back_inserter(shown));
      if (!page->next) break;
      const auto kept = decode_job_cursor(encode(*page->next), world.shards.shards());
      ASSERT_EQ(kept, page->next) << seed;
      query.after = *kept;
      world.submit();  // nothing that came later moves the pages
    }
    ASSERT_EQ(shown, expected) << seed;
  }
}

TEST(ReadsOfShards, AFullLastPageIsTheEnd) {
  ShardsForTests shards(2);
  for (int i = 0; i < 3; ++i) {
    shards.add_job(0, at(i));
    shards.add_job(1, at(i));
  }
  const Reads reads(shards.all_tables());
  JobQuery query;
  query.limit = 6;
  EXPECT_FALSE(reads.list(query)->next);
  query.limit = 5;
  query.after = *reads.list(query)->next;
  EXPECT_EQ(reads.list(query)->jobs.size(), 1U);
  EXPECT_FALSE(reads.list(query)->next);
}

TEST(ReadsOfShards, ASlowShardEndsThePageAndNobodyIsLeftOut) {
  ShardsForTests shards(2);
  const core::Job old = shards.add_job(0, at(1));
  const core::Job middle = shards.add_job(1, at(2));
  const core::Job young = shards.add_job(0, at(3));
  const Reads reads(shards.all_tables());
  shards.tables(0).most_listed = 1;
  JobQuery query;
  query.limit = 10;
  auto page = reads.list(query);
  // The slow shard's next job may be younger than the other shard's.
  EXPECT_THAT(ids_of(page->jobs), ElementsAre(young.id));
  ASSERT_TRUE(page->next);
  query.after = *page->next;
  page = reads.list(query);
  EXPECT_THAT(ids_of(page->jobs), ElementsAre(middle.id, old.id));
}

TEST(ReadsOfShards, SelectEachIdOnce) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    ManyJobs world(seed);
    const Reads reads(world.shards.all_tables());
    const std::vector<JobId> expected = world.newest_first();
    JobCursor after;
    std::vector<JobId> selected;
    for (int pages = 0;; ++pages) {
      ASSERT_LT(pages, 1'000) << seed;
      world.slow_down();
      const auto limit = static_cast<std::uint32_t>(1 + world.random.next() % 9);
      const auto page = reads.select_ids({}, after, limit, 1s);
      ASSERT_TRUE(page) << page.error().message;
      EXPECT_LE(page->ids.size(), limit);
      std::ranges::copy(page->ids, std::back_inserter(selected));
      if (!page->next) break;
      after = *page->next;
    }
    EXPECT_EQ(selected.size(), expected.size()) << seed;
    EXPECT_EQ(std::set(selected.begin(), selected.end()),
              std::set(expected.begin(), expected.end()))
        << seed;
  }
}

TEST(ReadsOfShards, CountAllShardsAndNoFurtherThanTheLimit) {
  ShardsForTests shards(3);
  for (int i = 0; i < 4; ++i) {
    for (ShardNumber shard = 0; shard < 3; ++shard) shards.add_job(shard, at(i));
  }
  const Reads reads(shards.all_tables());
  EXPECT_EQ(reads.count({}, 100, 1s), 12U);
  for (std::uint64_t limit = 0; limit < 14; ++limit) {
    EXPECT_EQ(reads.count({}, limit, 1s), std::min<std::uint64_t>(limit, 12));
  }
  shards.tables(2).reads_fail = true;
  EXPECT_FALSE(reads.count({}, 100, 1s));
  EXPECT_FALSE(reads.list({}));
  EXPECT_FALSE(reads.select_ids({}, {}, 100, 1s));
}

TEST(ReadsOfShards, FindJobsWhereverTheyLie) {
  ShardsForTests shards(3);
  const core::Job own = shards.add_job(1, at(1));
  const core::Job foreign = shards.add_job(2, at(2), 0);  // its id names another shard
  const JobId absent = make_job_id(at(3), queue_bits(shards.queue(1)), 5);
  const Reads reads(shards.all_tables());
  EXPECT_THAT(ids_of(*reads.fetch({own.id, foreign.id, absent})),
              UnorderedElementsAre(own.id, foreign.id));
  EXPECT_THAT(ids_of(*reads.fetch({own.id, own.id})), ElementsAre(own.id, own.id));
  EXPECT_THAT(ids_of(*reads.fetch({absent})), IsEmpty());

  const core::JobReply nothing;
  EXPECT_EQ((*reads.job(own.id, nothing, History::kNone))->job.ord, own.ord);
  EXPECT_FALSE(*reads.job(own.id, nothing, History::kNone, Lookup::kOtherShards));
  EXPECT_FALSE(*reads.job(foreign.id, nothing, History::kNone));
  const auto found = reads.job(foreign.id, nothing, History::kWhole, Lookup::kOtherShards);
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->job.payload.view(), foreign.payload.view());
  const core::JobReply deleted{nullptr, true};
  EXPECT_FALSE(*reads.job(foreign.id, deleted, History::kNone, Lookup::kOtherShards));
}

TEST(ReadsOfShards, DoNotLookFurtherForWhatAShardHas) {
  ShardsForTests shards(4);
  const core::Job job = shards.add_job(2, at(1));
  ASSERT_TRUE(Reads(shards.all_tables()).fetch({job.id}));
  for (ShardNumber shard = 0; shard < 4; ++shard) {
    EXPECT_EQ(shards.tables(shard).fetches, shard == 2 ? 1 : 0) << shard;
  }
}

// Two shards give their jobs the same ords.
TEST(ReadsOfShards, CompleteClaimsFromTheShardOfEachJob) {
  ShardsForTests shards(2);
  core::ClaimReply claimed;
  std::vector<std::string> payloads;
  for (ShardNumber shard = 0; shard < 2; ++shard) {
    core::Job job = shards.add_job(shard, at(1), 0);
    payloads.emplace_back(job.payload.view());
    job.payload = {};
    claimed.jobs.emplace_back().job = std::move(job);
  }
  core::Job gone = claimed.jobs[0].job;
  gone.ord = 77;
  claimed.jobs.emplace_back().job = std::move(gone);
  ASSERT_TRUE(Reads(shards.all_tables()).complete(claimed));
  ASSERT_EQ(claimed.jobs.size(), 2U);
  EXPECT_EQ(claimed.jobs[0].job.payload.view(), payloads[0]);
  EXPECT_EQ(claimed.jobs[1].job.payload.view(), payloads[1]);
}

}  // namespace
}  // namespace millrace::engine
