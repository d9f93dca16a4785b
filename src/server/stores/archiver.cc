#include "server/stores/archiver.h"

#include <algorithm>
#include <utility>

#include "base/thread_name.h"

namespace millrace::server {
namespace {

using std::chrono_literals::operator""s;

constexpr auto kLook = 1s;
// This many rows are archived early, so that files reach a reasonable size.
constexpr std::uint64_t kManyRows = 8192;

}  // namespace

Result<std::unique_ptr<Archiver>> Archiver::start(Parts parts) {
  auto writer = store::ArchiveWriter::open(parts.directory, parts.store_id, parts.journal);
  if (!writer) return std::unexpected(writer.error());
  if (const auto gap = (*writer)->gap()) {
    parts.log.warn(
        "rows were dropped while the server ran without this archive; make a backup now, because a "
        "restore can't pass them",
        {{"archive", parts.directory},
         {"first", to_number(gap->first)},
         {"last", to_number(gap->second)}});
  }
  return std::unique_ptr<Archiver>(new Archiver(std::move(parts), std::move(*writer)));
}

Archiver::Archiver(Parts parts, std::unique_ptr<store::ArchiveWriter> writer)
    : parts_(std::move(parts)),
      writer_(std::move(writer)),
      archived_(to_number(writer_->archived())),
      thread_([this] { run(); }) {}

Archiver::~Archiver() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Archiver::finish(Time until) {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
  until_ms_ = to_ms(until);
  round(true);
}

void Archiver::run() {
  name_this_thread("archive");
  // The first round runs at once, to show that the archive is writable.
  do {
    round(false);
  } while (await_round());
}

bool Archiver::await_round() {
  const auto begin = Clock::now();
  const MutexLock lock(mutex_);
  while (!stopping_) {
    const auto now = Clock::now();
    if (now >= begin + parts_.every) return true;
    const auto extent = parts_.journal.extent();
    if (extent && to_number(extent->newest) >= archived_.load() + kManyRows && !failing()) {
      return true;
    }
    wake_.wait_until(mutex_, std::min(now + kLook, begin + parts_.every));
  }
  return false;
}

void Archiver::round(bool last) {
  const Status done = archive_all(last);
  const bool failed = !done.has_value();
  if (failed && !failing()) {
    parts_.log.error(
        "the server can't write its archive; it tries again, and keeps the journal's rows until "
        "then",
        {{"archive", parts_.directory}, {"reason", done.error().message}});
  } else if (!failed && failing()) {
    parts_.log.info("the server can write its archive again", {{"archive", parts_.directory}});
  }
  failing_ = failed;
}

bool Archiver::stops() {
  const MutexLock lock(mutex_);
  return stopping_;
}

Status Archiver::archive_all(bool last_round) {
  // Read before the journal's extent: everything answered by this time is then in it.
  const Time until = time_from_ms(until_ms_.load());
  const auto extent = parts_.journal.extent();
  if (!extent) return std::unexpected(extent.error());
  while (writer_->archived() < extent->newest) {
    if (Status added = writer_->add_some(extent->newest); !added) return added;
    archived_ = to_number(writer_->archived());
    if (!last_round && stops()) return {};
  }
  return to_ms(until) == 0 ? Status() : writer_->cover(until);
}

}  // namespace millrace::server
