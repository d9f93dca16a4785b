#include "sim/crash_points/damage.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "store/sqlite/maintenance.h"
#include "store/sqlite/sqlite_store.h"

namespace millrace::crash_points {
namespace {

constexpr std::size_t kProbe = 24;  // so many bytes of a body stand nowhere else

struct Row {
  Seq seq{};
  bool needed = false;  // by the next start: the tables lack it
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

// None: it goes across two pages, or stands a second time in a page that is free.
std::optional<std::size_t> only_place(std::string_view file, std::string_view bytes) {
  const std::size_t at = file.find(bytes);
  if (at == std::string_view::npos) return std::nullopt;
  if (file.find(bytes, at + 1) != std::string_view::npos) return std::nullopt;
  return at;
}

void judge(const Explorer::World& world, const Row& row, std::vector<std::string>& problems) {
  const std::string name = fmt::format("row {}", to_number(row.seq));
  const auto report = store::verify_store(world.places.directory);
  const bool found = !report || std::ranges::any_of(report->problems, [&](const auto& problem) {
    return problem.find(name) != std::string::npos;
  });
  if (!found) problems.push_back(fmt::format("a flipped bit in {} was not found", name));
  const auto life = Life::start(world.places.directory, world.disk, world.ledger, world.log);
  if (life && row.needed)
    problems.push_back(fmt::format("a start used {}, which is damaged", name));
  for (const std::string& problem : world.ledger.problems) problems.push_back(problem);
  world.ledger.problems.clear();
  if (!life && !row.needed) {
    problems.push_back(
        fmt::format("a start was refused that did not need {}: {}", name, life.error().message));
  }
}

}  // namespace

void flip_bits(const Explorer::World& world, std::uint64_t count, Random random) {
  Workload(world.places, world.disk, world.ledger, world.log).run([](Life*) { return false; });
  const std::string path = world.places.directory + "/journal.db";
  std::vector<Row> rows = rows_of(world);
  std::erase_if(rows, [](const Row& row) { return row.body.size() < kProbe; });
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto first_needed = std::ranges::find_if(rows, &Row::needed);
    MILLRACE_CHECK(first_needed != rows.end());
    // Every other one where the next start meets it.
    const auto from = static_cast<std::uint64_t>(i % 2 == 0 ? first_needed - rows.begin() : 0);
    const Row& row = rows[from + random.next() % (rows.size() - from)];
    const std::size_t in_body = random.next() % (row.body.size() - kProbe + 1);
    const std::optional<std::size_t> found =
        only_place(world.disk.find(path)->content, row.body.substr(in_body, kProbe));
    if (!found) continue;
    const std::size_t at = *found;
    const auto bit = static_cast<unsigned>(random.next() % 8);
    ++world.tally.flips;
    world.disk.flip_bit(path, at, bit);
    std::vector<std::string> problems;
    judge(world, row, problems);
    // A start that went well has moved nothing in the file: there was no log to move.
    world.disk.flip_bit(path, at, bit);
    if (problems.empty()) continue;
    std::string story = fmt::format("Bit {} of byte {} of {} was flipped, in row {}.\n", bit, at,
                                    path, to_number(row.seq));
    for (const std::string& problem : problems) story += fmt::format(" - {}\n", problem);
    return world.tally.violated(story);
  }
}

}  // namespace millrace::crash_points
