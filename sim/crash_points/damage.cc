#include "sim/crash_points/damage.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "store/sqlite/maintenance.h"
#include "store/sqlite/schema.h"
#include "store/sqlite/sqlite_store.h"

namespace millrace::crash_points {
namespace {

constexpr std::size_t kProbe = 24;  // bytes of a body that occur nowhere else

struct Row {
  Seq seq{};
  bool needed = false;  // by the next start, since the tables lack it
  std::string body;
};

std::vector<Row> rows_of(const Explorer::World& world) {
  std::vector<Row> rows;
  const auto store = store::open_sqlite_store(
      {world.places.directory, [] { return std::chrono::steady_clock::time_point(); }, world.log});
  MILLRACE_CHECK(store.has_value());
  const Seq projected = store->tables->progress()->seq;
  const Seq oldest = store->journal->extent()->oldest;
  const Status read = store->journal->read(oldest, [&](const store::JournalRow& row) {
    rows.push_back({row.seq, row.seq > projected, row.body});
    return true;
  });
  MILLRACE_CHECK(read.has_value());
  return rows;
}

// None: the bytes cross a page boundary, or also occur in a free page.
std::optional<std::size_t> only_place(std::string_view file, std::string_view bytes) {
  const std::size_t at = file.find(bytes);
  if (at == std::string_view::npos) return std::nullopt;
  if (file.find(bytes, at + 1) != std::string_view::npos) return std::nullopt;
  return at;
}

struct Flip {
  std::string path;
  store::Part part{};
  std::size_t at = 0;
  unsigned bit = 0;
  bool must_refuse = false;  // because the next start reads it

  std::string page() const {
    const auto size = static_cast<std::size_t>(store::page_size_of(part));
    return fmt::format("{}, page {}:", path, at / size + 1);
  }
};

void judge(const Explorer::World& world, const Flip& flip, std::vector<std::string>& problems) {
  const std::string name = flip.page();
  const auto report = store::verify_store(world.places.directory);
  const bool found = !report || std::ranges::any_of(report->problems, [&](const auto& problem) {
    return problem.find(name) != std::string::npos;
  });
  if (!found) problems.push_back(fmt::format("verification does not name {}", name));
  const auto life = Life::start(world.places.directory, world.disk, world.ledger, world.log);
  if (life && flip.must_refuse) problems.push_back(fmt::format("a start used {}", name));
  // The ledger has checked all that was served. If something was not served, the error must name
  // the page.
  for (const std::string& problem : world.ledger.problems) {
    if (problem.find(name) == std::string::npos) problems.push_back(problem);
  }
  world.ledger.problems.clear();
  if (!life && life.error().message.find(name) == std::string::npos) {
    problems.push_back(fmt::format("the refusal does not name {} {}", name, life.error().message));
  }
}

std::optional<Flip> in_row(const Explorer::World& world, const Row& row, Random& random) {
  const std::string path = world.places.directory + "/journal.db";
  const std::size_t in_body = random.next() % (row.body.size() - kProbe + 1);
  const auto at = only_place(world.disk.find(path)->content, row.body.substr(in_body, kProbe));
  if (!at) return std::nullopt;
  return Flip{path, store::Part::kJournal, *at, static_cast<unsigned>(random.next() % 8),
              row.needed};
}

Flip anywhere(const Explorer::World& world, Random& random) {
  const bool tables = random.next() % 4 != 0;
  const std::string path = world.places.directory + (tables ? "/jobs.db" : "/journal.db");
  const auto part = tables ? store::Part::kTables : store::Part::kJournal;
  // Damage to a file's header would also affect how the rest is read and reported.
  constexpr std::size_t kHeader = 100;
  const std::size_t size = world.disk.find(path)->content.size();
  return {path, part, kHeader + random.next() % (size - kHeader),
          static_cast<unsigned>(random.next() % 8), false};
}

}  // namespace

void flip_bits(const Explorer::World& world, std::uint64_t count, Random random) {
  Workload(world.places, world.disk, world.ledger, world.log).run([](Life*) { return false; });
  std::vector<Row> rows = rows_of(world);
  std::erase_if(rows, [](const Row& row) { return row.body.size() < kProbe; });
  for (std::uint64_t i = 0; i < count; ++i) {
    std::optional<Flip> flip;
    if (i % 2 == 0) {
      const auto first_needed = std::ranges::find_if(rows, &Row::needed);
      MILLRACE_CHECK(first_needed != rows.end());
      // Every other flip is in a row that the next start reads.
      const auto from = static_cast<std::uint64_t>(i % 4 == 0 ? first_needed - rows.begin() : 0);
      flip = in_row(world, rows[from + random.next() % (rows.size() - from)], random);
    } else {
      flip = anywhere(world, random);
    }
    if (!flip) continue;
    ++world.tally.flips;
    world.disk.flip_bit(flip->path, flip->at, flip->bit);
    std::vector<std::string> problems;
    judge(world, *flip, problems);
    // The bit is still at the same place: a successful start moves nothing, since there was no log.
    world.disk.flip_bit(flip->path, flip->at, flip->bit);
    if (problems.empty()) continue;
    std::string story =
        fmt::format("Bit {} of byte {} of {} was flipped.\n", flip->bit, flip->at, flip->path);
    for (const std::string& problem : problems) story += fmt::format(" - {}\n", problem);
    return world.tally.violated(story);
  }
}

}  // namespace millrace::crash_points
