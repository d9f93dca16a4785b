#include "store/sqlite/archive_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#include "store/event_codec.h"
#include "store/journal_check.h"
#include "store/sqlite/directory.h"

namespace millrace::store {
namespace {

constexpr std::string_view kRowsMagic = "Millrace rows 1\n";
constexpr std::size_t kStoreIdBytes = 32;
// Magic, store id, first, last, predecessor, checksum, first_at, last_at, and a checksum of these.
constexpr std::size_t kHeadBytes = 16 + kStoreIdBytes + 8 + 8 + 16 + 16 + 8 + 8 + 8;
// Per row: epoch, checksum and the body's length; the body follows.
constexpr std::size_t kRowHeadBytes = 8 + 16 + 4;
constexpr std::size_t kBufferBytes = 1024 * 1024;
// A row's body is far smaller; a length above this is damage.
constexpr std::uint32_t kMostBodyBytes = 1U << 30;

// Little-endian, whatever the machine's order.
template <typename T>
void put(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof value; ++i) out += static_cast<char>(value >> (8 * i));
}
void put(std::string& out, const Checksum& checksum) {
  put(out, checksum.high);
  put(out, checksum.low);
}

// Takes numbers from the front of bytes that are long enough.
class Taker {
 public:
  explicit Taker(std::string_view bytes) : bytes_(bytes) {}
  std::string_view bytes(std::size_t count) {
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  std::uint64_t number(std::size_t width = 8) {
    std::uint64_t value = 0;
    const std::string_view taken = bytes(width);
    for (std::size_t i = 0; i < width; ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(taken[i])) << (8 * i);
    }
    return value;
  }
  Checksum checksum() {
    const std::uint64_t high = number();
    return {high, number()};
  }

 private:
  std::string_view bytes_;
};

std::string encode(const ArchiveHead& head) {
  std::string bytes(kRowsMagic);
  bytes += head.store_id;
  put(bytes, to_number(head.first));
  put(bytes, to_number(head.last));
  put(bytes, head.predecessor);
  put(bytes, head.checksum);
  put(bytes, static_cast<std::uint64_t>(to_ms(head.first_at)));
  put(bytes, static_cast<std::uint64_t>(to_ms(head.last_at)));
  put(bytes, static_cast<std::uint64_t>(XXH3_64bits(bytes.data(), bytes.size())));
  return bytes;
}

std::unexpected<Error> system_failure(std::string_view what, const std::string& path) {
  return failure(fmt::format("can't {} {}: {}", what, path, std::strerror(errno)));
}

std::unexpected<Error> cannot(std::string_view what, const std::string& path,
                              const OpenFault& fault) {
  return failure(fmt::format("can't {} {}: {}", what, path, fault.reason));
}

std::unexpected<Error> damaged(const std::string& path, std::string_view why) {
  return failure(
      fmt::format("{} is damaged: {}; put back a good copy of it, or restore without what comes "
                  "after it",
                  path, why));
}

// False: the file ends early; errno is 0 then.
bool read_exactly(int file, char* to, std::size_t count) {
  while (count > 0) {
    errno = 0;
    const ssize_t got = ::read(file, to, count);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    count -= static_cast<std::size_t>(got);
  }
  return true;
}

Status write_at(int file, std::string_view bytes, std::optional<off_t> at,
                const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t put = at ? ::pwrite(file, bytes.data(), bytes.size(), *at)
                           : ::write(file, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return system_failure("write", path);
    bytes.remove_prefix(static_cast<std::size_t>(put));
    if (at) *at += put;
  }
  return {};
}

Result<Time> time_of(std::string_view body) {
  const auto batch = decode_events(body);
  if (!batch) return std::unexpected(batch.error());
  return batch->at;
}

Result<ArchiveHead> head_from(int file, const std::string& path) {
  std::array<char, kHeadBytes> bytes{};
  if (!read_exactly(file, bytes.data(), bytes.size())) {
    if (errno != 0) return system_failure("read", path);
    return damaged(path, "it is too short");
  }
  const std::string_view all(bytes.data(), bytes.size());
  if (!all.starts_with(kRowsMagic)) {
    return failure(fmt::format("{} is not a file of an archive that this version reads", path));
  }
  Taker sum(all.substr(all.size() - 8));
  if (sum.number() != XXH3_64bits(all.data(), all.size() - 8)) {
    return damaged(path, "the checksum of its head does not match");
  }
  Taker take(all.substr(kRowsMagic.size()));
  ArchiveHead head;
  head.store_id = take.bytes(kStoreIdBytes);
  head.first = Seq{take.number()};
  head.last = Seq{take.number()};
  head.predecessor = take.checksum();
  head.checksum = take.checksum();
  head.first_at = time_from_ms(static_cast<std::int64_t>(take.number()));
  head.last_at = time_from_ms(static_cast<std::int64_t>(take.number()));
  return head;
}

}  // namespace

std::string archive_file_name(Seq first, Seq last) {
  return fmt::format("{:020}-{:020}{}", to_number(first), to_number(last), kArchiveSuffix);
}

Result<std::unique_ptr<ArchiveFileWriter>> ArchiveFileWriter::create(const std::string& directory,
                                                                     const std::string& store_id) {
  const std::string path = directory + "/" + std::string(kArchiveDraft);
  auto file = open_file(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (!file) return cannot("write", path, file.error());
  std::unique_ptr<ArchiveFileWriter> writer(new ArchiveFileWriter(directory, std::move(*file)));
  writer->head_.store_id = store_id;
  writer->buffer_.assign(kHeadBytes, '\0');  // the head comes last
  return writer;
}

ArchiveFileWriter::~ArchiveFileWriter() {
  if (!is_placed_) static_cast<void>(remove_file(directory_ + "/" + std::string(kArchiveDraft)));
}

Status ArchiveFileWriter::add(const JournalRow& row) {
  if (empty()) {
    const auto at = time_of(row.body);
    if (!at) return std::unexpected(at.error());
    head_.first = row.seq;
    head_.first_at = *at;
    head_.predecessor = row.predecessor;
  }
  head_.last = row.seq;
  head_.checksum = row.checksum;
  last_body_ = row.body;
  put(buffer_, to_number(row.epoch));
  put(buffer_, row.checksum);
  put(buffer_, static_cast<std::uint32_t>(row.body.size()));
  buffer_ += row.body;
  bytes_ += kRowHeadBytes + row.body.size();
  return buffer_.size() < kBufferBytes ? Status() : flush();
}

Status ArchiveFileWriter::flush() {
  Status written = write_at(file_.number(), buffer_, std::nullopt,
                            directory_ + "/" + std::string(kArchiveDraft));
  buffer_.clear();
  return written;
}

Result<ArchiveHead> ArchiveFileWriter::finish() {
  const std::string draft = directory_ + "/" + std::string(kArchiveDraft);
  const auto at = time_of(last_body_);
  if (!at) return std::unexpected(at.error());
  head_.last_at = *at;
  if (Status written = flush(); !written) return std::unexpected(written.error());
  if (Status written = write_at(file_.number(), encode(head_), 0, draft); !written) {
    return std::unexpected(written.error());
  }
  if (::fsync(file_.number()) != 0) return system_failure("sync", draft);
  const std::string path = directory_ + "/" + archive_file_name(head_.first, head_.last);
  if (Status placed = rename_file(draft, path); !placed) return std::unexpected(placed.error());
  is_placed_ = true;
  return head_;
}

Result<ArchiveHead> read_archive_head(const std::string& path) {
  const auto file = open_file(path, O_RDONLY);
  if (!file) return cannot("read", path, file.error());
  return head_from(file->number(), path);
}

Status read_archive_rows(const std::string& path, const ArchiveHead& head,
                         const std::function<bool(const JournalRow&)>& visit) {
  const auto file = open_file(path, O_RDONLY);
  if (!file) return cannot("read", path, file.error());
  static_cast<void>(::posix_fadvise(file->number(), 0, 0, POSIX_FADV_SEQUENTIAL));
  if (const auto again = head_from(file->number(), path); !again) {
    return std::unexpected(again.error());
  }
  Checksum predecessor = head.predecessor;
  std::array<char, kRowHeadBytes> row_head{};
  JournalRow row;
  for (Seq seq = head.first; seq <= head.last; seq = next(seq)) {
    const auto ends = [&] {
      return damaged(path, fmt::format("it ends within row {}, and should have rows up to {}",
                                       to_number(seq), to_number(head.last)));
    };
    if (!read_exactly(file->number(), row_head.data(), row_head.size())) {
      return errno != 0 ? system_failure("read", path) : ends();
    }
    Taker take({row_head.data(), row_head.size()});
    row.seq = seq;
    row.epoch = Epoch{take.number()};
    row.predecessor = predecessor;
    row.checksum = take.checksum();
    const auto size = static_cast<std::uint32_t>(take.number(4));
    if (size > kMostBodyBytes) {
      return damaged(path, fmt::format("the length of row {} is impossible", to_number(seq)));
    }
    row.body.resize(size);
    if (!read_exactly(file->number(), row.body.data(), size)) {
      return errno != 0 ? system_failure("read", path) : ends();
    }
    if (!check_row(kOnlyShard, row)) {
      return damaged(path, fmt::format("the checksum of row {} does not match", to_number(seq)));
    }
    predecessor = row.checksum;
    if (!visit(row)) return {};
  }
  if (predecessor != head.checksum) {
    return damaged(path, "its last row is not the one that its head names");
  }
  if (read_exactly(file->number(), row_head.data(), 1)) {
    return damaged(path, fmt::format("it goes on after row {}, its last", to_number(head.last)));
  }
  return errno == 0 ? Status() : system_failure("read", path);
}

}  // namespace millrace::store
