#include "engine/models/shard_models.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "base/random.h"
#include "core/jobs/error_fingerprint.h"
#include "engine/models/read_models.h"
#include "store/memory/memory_store.h"

namespace millrace::engine {
namespace {

constexpr Time kStart = time_from_ms(1'700'000'040'000);
using Source = Statistics::Source;

// A log of jobs with keys and errors, as rows.
std::vector<core::EventBatch> make_log(int rows) {
  Random random(11);
  std::vector<core::EventBatch> log;
  Time at = kStart;
  for (int row = 0; row < rows; ++row) {
    at += Duration{static_cast<std::int64_t>(random.next() % 20'000)};
    core::EventBatch batch;
    batch.at = at;
    JobId id;
    id.bytes[15] = static_cast<std::uint8_t>(random.next() % 100);
    const core::JobRef job{id, SharedBytes("q" + std::to_string(random.next() % 5)),
                           SharedBytes("t"), 1};
    core::Submitted submitted;
    submitted.job.id = id;
    submitted.job.queue = job.queue;
    submitted.job.type = job.type;
    auto extras = std::make_shared<core::JobExtras>();
    extras->fair_key = SharedBytes("k" + std::to_string(random.next() % 150));
    submitted.job.extras = extras;
    batch.events.emplace_back(submitted);
    core::Claimed claimed;
    claimed.worker = SharedBytes("w");
    claimed.items.emplace_back().job = job;
    claimed.items.back().waited = Duration{7};
    batch.events.emplace_back(claimed);
    core::AttemptEnded ended;
    ended.job = job;
    ended.worker = SharedBytes("w");
    ended.outcome = core::AttemptOutcome::kFailed;
    ended.state = random.next() % 2 == 0 ? core::State::kDead : core::State::kRetrying;
    ended.ran = Duration{static_cast<std::int64_t>(random.next() % 5'000)};
    auto error = std::make_shared<core::JobError>();
    error->type = SharedBytes("E" + std::to_string(random.next() % 9));
    error->fingerprint = core::error_fingerprint(error->type.view(), "");
    ended.error = error;
    batch.events.emplace_back(ended);
    log.push_back(std::move(batch));
  }
  return log;
}

std::map<std::string, std::string> stored(store::Tables& tables) {
  std::map<std::string, std::string> all;
  for (const store::NamedBlob& blob : tables.get_blobs("models/", "models0").value()) {
    all[blob.name] = *blob.content;
  }
  return all;
}

// The names of the blobs in which two stores differ.
std::vector<std::string> differences(const std::map<std::string, std::string>& a,
                                     const std::map<std::string, std::string>& b) {
  std::vector<std::string> names;
  for (const auto& [name, content] : a) {
    const auto found = b.find(name);
    if (found == b.end() || found->second != content) names.push_back(name);
  }
  for (const auto& [name, content] : b) {
    if (!a.contains(name)) names.push_back(name);
  }
  return names;
}

struct World {
  store::Store store = store::make_memory_store();
  std::vector<core::EventBatch> log = make_log(2'000);
  store::Tables& tables() { return *store.tables; }

  // Reads the log from the models' position to a row.
  void follow(ShardModels& models, std::size_t to) {
    for (std::size_t row = to_number(models.position().seq); row < to; ++row) {
      models.take(Seq{row + 1}, log[row], Source::kReplayed);
    }
  }
};

// However often it is stored and loaded in the middle, and wherever it stopped without that,
// nothing is counted twice or lost.
TEST(ShardModels, AreTheSameThroughRestarts) {
  World whole;
  {
    ShardModels models;
    ASSERT_TRUE(models.load(whole.tables(), ShardModels::Oldest{Seq{1}, kStart}));
    models.worker_seen("w", "1.0", "go", kStart);
    whole.follow(models, 2'000);
    ASSERT_TRUE(models.save(whole.tables()).value());
  }
  for (const std::size_t every : {1UL, 37UL, 500UL}) {
    World world;
    Random random(every);
    std::size_t reached = 0;
    while (reached < 2'000) {
      ShardModels models;
      ASSERT_TRUE(models.load(world.tables(), ShardModels::Oldest{Seq{1}, kStart}));
      if (reached == 0) models.worker_seen("w", "1.0", "go", kStart);
      reached = std::min<std::size_t>(to_number(models.position().seq) + every + 1, 2'000);
      world.follow(models, reached);
      ASSERT_TRUE(models.save(world.tables()).value());
      // Rows after the last save are lost with the process.
      world.follow(models, std::min<std::size_t>(reached + random.next() % 40, 2'000));
    }
    EXPECT_EQ(differences(stored(world.tables()), stored(whole.tables())),
              std::vector<std::string>{})
        << every;
  }
}

TEST(ShardModels, MadeAnewTheyEqualWhatWasThere) {
  World world;
  ShardModels models;
  ASSERT_TRUE(models.load(world.tables(), ShardModels::Oldest{Seq{1}, kStart}));
  models.worker_seen("w", "1.0", "go", kStart);
  world.follow(models, 2'000);
  ASSERT_TRUE(models.save(world.tables()).value());
  const auto before = stored(world.tables());
  ASSERT_TRUE(ShardModels::request_reproject(world.tables()));
  EXPECT_TRUE(models.overtaken(world.tables()).value());
  EXPECT_FALSE(models.save(world.tables()).value());  // its content must not be kept
  ASSERT_TRUE(models.load(world.tables(), ShardModels::Oldest{Seq{1}, kStart}));
  EXPECT_EQ(models.position().seq, Seq{});
  EXPECT_EQ(models.figures().groups, 0U);
  world.follow(models, 700);
  ASSERT_TRUE(models.save(world.tables()).value());
  world.follow(models, 2'000);
  ASSERT_TRUE(models.save(world.tables()).value());
  EXPECT_EQ(differences(stored(world.tables()), before), std::vector<std::string>{});
}

TEST(ShardModels, OfTwoLeadersTheLaterStoreCounts) {
  World world;
  ShardModels former, next;
  const ShardModels::Oldest oldest{Seq{1}, kStart};
  ASSERT_TRUE(former.load(world.tables(), oldest));
  world.follow(former, 100);
  ASSERT_TRUE(former.save(world.tables()).value());
  ASSERT_TRUE(next.load(world.tables(), oldest));
  EXPECT_EQ(next.position().seq, Seq{100});
  world.follow(next, 150);
  world.follow(former, 120);
  ASSERT_TRUE(next.save(world.tables()).value());
  EXPECT_FALSE(former.save(world.tables()).value());
  ASSERT_TRUE(former.load(world.tables(), oldest));
  EXPECT_EQ(former.position().seq, Seq{150});
}

// The log begins after the end of the stored models.
TEST(ShardModels, MarkAGap) {
  World world;
  ShardModels models;
  ASSERT_TRUE(models.load(world.tables(), ShardModels::Oldest{Seq{1}, kStart}));
  world.follow(models, 100);
  models.skip(Seq{150}, world.log[150].at);
  models.take(Seq{151}, world.log[150], Source::kReplayed);
  ASSERT_TRUE(models.save(world.tables()).value());
  ShardModels read;
  ASSERT_TRUE(read.load(world.tables(), std::nullopt));
  ASSERT_EQ(read.position().gaps.size(), 1U);
  EXPECT_EQ(read.position().gaps[0].from, world.log[99].at);
  EXPECT_EQ(read.position().gaps[0].to, world.log[150].at);
  EXPECT_EQ(read.figures().gaps, 1U);
}

TEST(ShardModels, DamagedOnesAreMadeAnew) {
  World world;
  ShardModels models;
  const ShardModels::Oldest oldest{Seq{1}, kStart};
  ASSERT_TRUE(models.load(world.tables(), oldest));
  world.follow(models, 100);
  ASSERT_TRUE(models.save(world.tables()).value());
  ASSERT_TRUE(world.tables().put_blob("models/errors/g/00", "damaged"));
  ShardModels next;
  ASSERT_TRUE(next.load(world.tables(), oldest));
  EXPECT_TRUE(next.found_damage());
  EXPECT_EQ(next.position().seq, Seq{});
  ASSERT_TRUE(world.tables().put_blob("models/at", "damaged"));
  ASSERT_TRUE(next.load(world.tables(), oldest));
  EXPECT_EQ(next.position().seq, Seq{});
}

// Statistics from before the log stay when it no longer begins with the first row.
TEST(ShardModels, MadeAnewFromAShorterLogTheyKeepOlderStatistics) {
  World world;
  ShardModels models;
  ASSERT_TRUE(models.load(world.tables(), ShardModels::Oldest{Seq{1}, kStart}));
  world.follow(models, 2'000);
  ASSERT_TRUE(models.save(world.tables()).value());
  const auto before = stored(world.tables());
  ASSERT_TRUE(ShardModels::request_reproject(world.tables()));
  ASSERT_TRUE(models.load(world.tables(), ShardModels::Oldest{Seq{1'001}, world.log[1'000].at}));
  models.skip(Seq{1'000}, world.log[1'000].at);
  world.follow(models, 2'000);
  ASSERT_TRUE(models.save(world.tables()).value());
  EXPECT_EQ(models.position().gaps.size(), 0U);
  std::size_t kept = 0;
  const auto after = stored(world.tables());
  for (const auto& [name, content] : before) {
    const auto found = after.find(name);
    if (found != after.end() && found->second == content && name.contains("series")) ++kept;
  }
  EXPECT_GT(kept, 20U);
}

TEST(VersionBook, AVersionIsADeployOnce) {
  VersionBook book;
  book.worker_seen("a", "1.0", "go", kStart);
  book.worker_seen("b", "1.0", "go", kStart + Duration{1});
  book.worker_seen("a", "1.1", "go", kStart + Duration{2});
  EXPECT_EQ(book.version_of("a", kStart + Duration{1}), "1.0");
  EXPECT_EQ(book.version_of("a", kStart + Duration{2}), "1.1");
  EXPECT_EQ(book.version_of("a", kStart - Duration{9}), "1.0");
  EXPECT_EQ(book.version_of("nobody", kStart), "");
  core::EventBatch batch;
  batch.at = kStart + Duration{3};
  core::Claimed claimed;
  claimed.worker = SharedBytes("a");
  claimed.items.emplace_back().job = {JobId{}, SharedBytes("q"), SharedBytes("send"), 1};
  batch.events.emplace_back(claimed);
  book.take(batch);
  book.take(batch);
  ASSERT_EQ(book.deploys().size(), 3U);
  EXPECT_EQ(book.deploys()[1].version, "1.1");
  EXPECT_EQ(book.deploys()[1].type, "");
  EXPECT_EQ(book.deploys()[2].type, "send");
  VersionBook read;
  ASSERT_TRUE(read.load(book.save()));
  EXPECT_EQ(read.save(), book.save());
}

TEST(VersionBook, RemembersSoManyWorkers) {
  VersionBook book;
  for (std::size_t i = 0; i <= kMaxVersionedWorkers; ++i) {
    book.worker_seen("w" + std::to_string(i), "1", "", kStart + Duration{static_cast<int>(i)});
  }
  EXPECT_EQ(book.version_of("w0", kStart), "");
  EXPECT_EQ(book.version_of("w" + std::to_string(kMaxVersionedWorkers), kStart), "1");
}

}  // namespace
}  // namespace millrace::engine
