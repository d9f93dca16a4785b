#include "store/postgres/postgres_dump.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <libpq-fe.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/hex.h"
#include "digest/sha256_sum.h"
#include "store/postgres/connection_pool.h"
#include "store/postgres/postgres_store.h"

namespace millrace::store {
namespace {

namespace fs = std::filesystem;
using Use = ConnectionPool::Use;

// The most bytes kept of a tool's error output.
constexpr std::size_t kMostWords = 4096;
constexpr std::size_t kReadBytes = 1024 * 1024;

// The address as libpq's variables of the environment: a password must not be among a process's
// arguments, which every user of the machine can read.
struct Address {
  std::vector<std::string> environment;
  std::string database;
};

Result<Address> address_of(const std::string& url) {
  char* fault = nullptr;
  PQconninfoOption* const parsed = PQconninfoParse(url.c_str(), &fault);
  PQfreemem(fault);
  if (parsed == nullptr) return failure("the server can't parse the address of the database");
  Address address;
  for (const PQconninfoOption* one = parsed; one->keyword != nullptr; ++one) {
    if (one->val == nullptr) continue;
    if (std::string_view(one->keyword) == "dbname") address.database = one->val;
    if (one->envvar != nullptr)
      address.environment.push_back(fmt::format("{}={}", one->envvar, one->val));
  }
  PQconninfoFree(parsed);
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view name =
        std::string_view(*one).substr(0, std::string_view(*one).find('='));
    const bool named = std::ranges::any_of(address.environment, [&](const std::string& mine) {
      return std::string_view(mine).starts_with(std::string(name) + "=");
    });
    if (!named) address.environment.emplace_back(*one);
  }
  return address;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

std::string read_words(int from) {
  std::string words;
  std::array<char, 4096> buffer{};
  while (true) {
    const ssize_t got = ::read(from, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    words.append(buffer.data(), static_cast<std::size_t>(got));
    if (words.size() > kMostWords) words.resize(kMostWords);
  }
  while (!words.empty() && words.back() == '\n') words.pop_back();
  for (char& c : words) {
    if (c == '\n') c = ' ';
  }
  return words;
}

// Runs one of PostgreSQL's tools, found in PATH; the error is the tool's output.
Status run_tool(std::vector<std::string> words, Address& address) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return failure("can't make a pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);  // this program blocks some
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  const int fault = ::posix_spawnp(&child, words.front().c_str(), &actions, &attributes,
                                   pointers(words).data(), pointers(address.environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  ::close(pipe[1]);
  if (fault != 0) {
    ::close(pipe[0]);
    return failure(fmt::format(
        "can't run {}: {}; install PostgreSQL's client programs (Debian: postgresql-client) on the "
        "server's machine",
        words.front(), std::strerror(fault)));
  }
  const std::string said = read_words(pipe[0]);
  ::close(pipe[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return failure(fmt::format("{} failed: {}", words.front(),
                             said.empty() ? fmt::format("it ended with status {}", status) : said));
}

// The line of kDumpSumFile.
Result<std::string> sum_line(const std::string& path) {
  const auto file = open_file(path, O_RDONLY);
  if (!file) return failure(fmt::format("can't read {}: {}", path, file.error().reason));
  Sha256Sum sum;
  std::vector<char> buffer(kReadBytes);
  while (true) {
    const ssize_t got = ::read(file->number(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure(fmt::format("can't read {}: {}", path, std::strerror(errno)));
    if (got == 0) break;
    sum.add({buffer.data(), static_cast<std::size_t>(got)});
  }
  return fmt::format("{}  {}\n", to_hex(sum.finish()), kDumpFile);
}

Status sync_path(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = file >= 0 && ::fsync(file) == 0;
  const int fault = errno;
  if (file >= 0) ::close(file);
  return synced ? Status() : failure(fmt::format("can't sync {}: {}", path, std::strerror(fault)));
}

Status write_sum(const std::string& draft, const std::string& directory) {
  const auto line = sum_line(draft);
  if (!line) return std::unexpected(line.error());
  const std::string path = directory + "/" + std::string(kDumpSumFile);
  const auto file = open_file(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (!file) return failure(fmt::format("can't write {}: {}", path, file.error().reason));
  const bool whole =
      ::write(file->number(), line->data(), line->size()) == static_cast<ssize_t>(line->size()) &&
      ::fsync(file->number()) == 0;
  return whole ? Status() : failure(fmt::format("can't write {}: {}", path, std::strerror(errno)));
}

Status dump(const std::string& url, const std::string& directory) {
  auto address = address_of(url);
  if (!address) return std::unexpected(address.error());
  const std::string file = directory + "/" + std::string(kDumpFile);
  const std::string draft = file + ".tmp";
  Status done = run_tool({"pg_dump", "--format=custom", "--schema=millrace", "--no-password",
                          "--lock-wait-timeout=60s", "--file=" + draft},
                         *address);
  // Checks that the dump's table of contents can be read.
  if (done) done = run_tool({"pg_restore", "--list", draft}, *address);
  std::error_code fault;
  if (done) fs::permissions(draft, fs::perms::owner_read | fs::perms::owner_write, fault);
  if (done) done = sync_path(draft);
  if (done) done = write_sum(draft, directory);
  if (done && ::rename(draft.c_str(), file.c_str()) != 0) {
    done = failure(fmt::format("can't put in place {}: {}", file, std::strerror(errno)));
  }
  if (done) done = sync_path(directory);
  if (!done) {
    fs::remove(draft, fault);
    fs::remove(directory + "/" + std::string(kDumpSumFile), fault);
  }
  return done;
}

// The first column of the only row.
Result<std::string> ask(ConnectionPool& pool, const char* sql) {
  SqlMessage message({.statement = std::chrono::milliseconds{0}});
  message.add(sql);
  const auto replies = pool.run(Use::kReading, message);
  if (!replies) return failure(replies.error().message);
  return std::string(replies->results.front().row(0).bytes(0));
}

Result<std::unique_ptr<PostgresNode>> reach(const std::string& url, const SteadyNow& now) {
  return PostgresNode::look({.url = url, .clock = now, .allow_unsafe = true});
}

}  // namespace

Status PostgresBackup::backup_to(const std::string& directory) {
  std::error_code fault;
  const bool existed = fs::exists(directory, fault);
  if (existed && !fs::is_empty(directory, fault)) {
    return failure(fmt::format("{} is not empty; choose a new or an empty directory", directory));
  }
  fs::create_directories(directory, fault);
  if (fault) return failure(fmt::format("can't create {}: {}", directory, fault.message()));
  fs::permissions(directory, fs::perms::owner_all, fault);
  Status done = dump(url_, directory);
  if (!done && !existed) fs::remove(directory, fault);
  return done;
}

Status check_dump(const std::string& directory) {
  const std::string path = directory + "/" + std::string(kDumpFile);
  const std::string sum_path = directory + "/" + std::string(kDumpSumFile);
  std::error_code fault;
  for (const auto& [name, file] : {std::pair(kDumpFile, path), std::pair(kDumpSumFile, sum_path)}) {
    if (fs::exists(file, fault)) continue;
    return failure(
        fmt::format("{} is not a backup of a store on PostgreSQL: {} is missing", directory, name));
  }
  const auto expected = read_file(sum_path);
  if (!expected) return std::unexpected(expected.error());
  const auto found = sum_line(path);
  if (!found) return std::unexpected(found.error());
  if (*found == *expected) return {};
  return failure(
      fmt::format("the backup {} is damaged: {} has another SHA-256 than {} says; take "
                  "another backup",
                  directory, kDumpFile, kDumpSumFile));
}

Status check_database_is_free(const std::string& url, const SteadyNow& now) {
  const auto node = reach(url, now);
  if (!node) return std::unexpected(node.error());
  const auto taken = ask((*node)->pool(), "SELECT (to_regnamespace('millrace') IS NOT NULL)::text");
  if (!taken) return std::unexpected(taken.error());
  if (*taken != "false") {
    return failure(
        "the database has a schema millrace, and a restore writes over nothing; name a new "
        "database (createdb)");
  }
  return {};
}

Result<RestoredDatabase> restore_dump(const std::string& directory, const std::string& url,
                                      const SteadyNow& now) {
  if (Status checked = check_dump(directory); !checked) return std::unexpected(checked.error());
  const std::string file = directory + "/" + std::string(kDumpFile);
  auto address = address_of(url);
  if (!address) return std::unexpected(address.error());
  const Status done =
      run_tool({"pg_restore", "--single-transaction", "--exit-on-error", "--no-owner",
                "--no-password", "--dbname=" + address->database, file},
               *address);
  if (!done) return std::unexpected(done.error());
  const auto node = reach(url, now);
  if (!node) return std::unexpected(node.error());
  ConnectionPool& pool = (*node)->pool();
  const auto id = ask(pool, "SELECT value FROM millrace.meta WHERE name = 'store'");
  if (!id) return std::unexpected(id.error());
  const auto shards = ask(pool, "SELECT count(*)::text FROM millrace.shards");
  if (!shards) return std::unexpected(shards.error());
  const auto jobs = ask(pool, "SELECT count(*)::text FROM millrace.job_rows");
  if (!jobs) return std::unexpected(jobs.error());
  return RestoredDatabase{*id, std::stoll(*shards), std::stoll(*jobs)};
}

}  // namespace millrace::store
