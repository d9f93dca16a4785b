#include "store/testing/postgres_cluster.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <libpq-fe.h>
#include <netinet/in.h>
#include <pwd.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "base/check.h"
#include "store/testing/pg_bouncer.h"

namespace millrace::store {
namespace {

using std::chrono_literals::operator""ms;
namespace fs = std::filesystem;

constexpr const char* kUser = "millrace";

// From the folder in MILLRACE_POSTGRES, or the newest that Debian's packages have installed.
std::string program(const std::string& name) {
  if (const char* const folder = std::getenv("MILLRACE_POSTGRES"); folder != nullptr) {
    const fs::path path = fs::path(folder) / name;
    if (fs::exists(path)) return path;
  }
  fs::path newest;
  for (const auto& version : fs::directory_iterator("/usr/lib/postgresql")) {
    const fs::path path = version.path() / "bin" / name;
    if (fs::exists(path) && path > newest) newest = path;
  }
  MILLRACE_CHECK(!newest.empty());  // tools/setup installs it
  return newest;
}

int free_port() {
  const int probe = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  MILLRACE_CHECK(::bind(probe, plain, size) == 0 && ::getsockname(probe, plain, &size) == 0);
  ::close(probe);
  return ntohs(address.sin_port);
}

pid_t spawn(const std::vector<std::string>& command, const std::string& log) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(&files, 1, 2);
  pid_t pid = -1;
  MILLRACE_CHECK(posix_spawnp(&pid, arguments[0], &files, nullptr, arguments.data(), environ) == 0);
  posix_spawn_file_actions_destroy(&files);
  return pid;
}

// Runs the command as a user who may run a server; it ends with this process.
std::vector<std::string> as_owner(std::vector<std::string> command) {
  std::vector<std::string> words = {"setpriv", "--pdeathsig", "QUIT"};
  if (::getuid() == 0) {
    words.insert(words.end(), {"--reuid", "postgres", "--regid", "postgres", "--clear-groups"});
  }
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

// initdb, the server and PgBouncer refuse to run as root.
void give_to_owner(const std::string& path) {
  if (::getuid() != 0) return;
  const passwd* const owner = ::getpwnam("postgres");
  MILLRACE_CHECK(owner != nullptr);
  MILLRACE_CHECK(::chown(path.c_str(), owner->pw_uid, owner->pw_gid) == 0);
}

void await_answer(const std::string& url) {
  for (int tries = 0; PQping(url.c_str()) != PQPING_OK; ++tries) {
    MILLRACE_CHECK(tries < 1'800);  // after a crash it syncs all of its files first
    std::this_thread::sleep_for(50ms);
  }
}

void end_and_wait(pid_t pid, int signal) {
  ::kill(pid, signal);
  int status = 0;
  ::waitpid(pid, &status, 0);
}

void run(const std::vector<std::string>& command, const std::string& log) {
  int status = -1;
  const pid_t pid = spawn(command, log);
  MILLRACE_CHECK(::waitpid(pid, &status, 0) == pid && status == 0);
}

}  // namespace

PostgresCluster::PostgresCluster(std::vector<std::string> settings)
    : settings_(std::move(settings)), port_(free_port()) {
  give_to_owner(directory_.path());
  run(as_owner({program("initdb"), "--pgdata", directory_.file("data"), "--username", kUser,
                "--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync"}),
      directory_.file("initdb.log"));
  start();
}

PostgresCluster::~PostgresCluster() { stop(SIGQUIT); }

PostgresCluster& PostgresCluster::shared() {
  static PostgresCluster cluster;
  return cluster;
}

void PostgresCluster::start() {
  std::vector<std::string> command = {program("postgres"),   "-D", directory_.file("data"), "-p",
                                      std::to_string(port_), "-k", directory_.path()};
  for (const std::string& setting : settings_) command.insert(command.end(), {"-c", setting});
  pid_ = spawn(as_owner(std::move(command)), directory_.file("log"));
  await_answer(url("postgres"));
}

void PostgresCluster::stop(int signal) {
  if (pid_ >= 0) end_and_wait(std::exchange(pid_, -1), signal);
}

std::string PostgresCluster::url(const std::string& database) const {
  return fmt::format("postgres://{}@127.0.0.1:{}/{}", kUser, port_, database);
}

std::string PostgresCluster::new_database(const std::string& like) {
  const std::string name = fmt::format("test{}", ++databases_);
  PostgresSession(url("postgres")).ask(fmt::format("CREATE DATABASE {} TEMPLATE {}", name, like));
  return url(name);
}

void PostgresCluster::drop_database(const std::string& url) {
  const std::string name = url.substr(url.rfind('/') + 1);
  PostgresSession(this->url("postgres")).ask(fmt::format("DROP DATABASE {} WITH (FORCE)", name));
}

PgBouncer::PgBouncer(const PostgresCluster& cluster) : port_(free_port()) {
  const std::string settings = directory_.file("pgbouncer.ini");
  {
    std::ofstream file(settings);
    file << fmt::format(
        "[databases]\n* = host=127.0.0.1 port={} user={}\n"
        "[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {}\nunix_socket_dir = {}\n"
        "auth_type = any\npool_mode = transaction\ndefault_pool_size = 4\n",
        cluster.port(), kUser, port_, directory_.path());
    MILLRACE_CHECK(file.good());
  }
  give_to_owner(directory_.path());
  give_to_owner(settings);
  pid_ = spawn(as_owner({"pgbouncer", "-q", settings}), directory_.file("log"));
  await_answer(fmt::format("postgres://{}@127.0.0.1:{}/postgres", kUser, port_));
}

PgBouncer::~PgBouncer() { end_and_wait(pid_, SIGKILL); }

std::string PgBouncer::url(const std::string& direct) const {
  return fmt::format("postgres://{}@127.0.0.1:{}{}", kUser, port_,
                     direct.substr(direct.rfind('/')));
}

PostgresSession::PostgresSession(const std::string& url) : raw_(PQconnectdb(url.c_str())) {
  MILLRACE_CHECK(PQstatus(raw_) == CONNECTION_OK);
}

PostgresSession::~PostgresSession() { PQfinish(raw_); }

std::string PostgresSession::ask(const std::string& sql) {
  PGresult* const result = PQexec(raw_, sql.c_str());
  const ExecStatusType status = PQresultStatus(result);
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
    fmt::print(stderr, "{}: {}\n", sql, PQerrorMessage(raw_));
    MILLRACE_CHECK(false);
  }
  std::string value;
  if (PQntuples(result) > 0) value = PQgetvalue(result, 0, 0);
  PQclear(result);
  return value;
}

std::string PostgresSession::refusal(const std::string& sql) {
  PGresult* const result = PQexec(raw_, sql.c_str());
  const char* const state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const std::string refused = state == nullptr ? "" : state;
  PQclear(result);
  return refused;
}

}  // namespace millrace::store
