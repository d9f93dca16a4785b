// A PostgreSQL server of a test's own: a cluster made in a temporary directory, on a free port, as
// an ordinary user; it ends with the object, and with the process if that comes first.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <string>
#include <vector>

#include "store/testing/temporary_directory.h"

struct pg_conn;

namespace millrace::store {

class PostgresCluster {
 public:
  // `settings`: "synchronous_commit=off" and the like.
  explicit PostgresCluster(std::vector<std::string> settings = {});
  ~PostgresCluster();
  PostgresCluster(const PostgresCluster&) = delete;
  PostgresCluster& operator=(const PostgresCluster&) = delete;

  // The one that the tests of this binary share, each with databases of its own.
  static PostgresCluster& shared();

  std::string url(const std::string& database) const;
  // An empty one, of a new name; its URL.
  std::string new_database(const std::string& like = "template1");
  void drop_database(const std::string& url);

  int port() const { return port_; }
  const std::string& directory() const { return directory_.path(); }
  // Starts it again after stop(); waits until it answers.
  void start();
  // SIGINT: fast; SIGQUIT: without saving anything. Waits for its end.
  void stop(int signal = SIGINT);

 private:
  const TemporaryDirectory directory_;
  const std::vector<std::string> settings_;
  int port_ = 0;
  pid_t pid_ = -1;
  int databases_ = 0;
};

// A session beside the store's.
class PostgresSession {
 public:
  explicit PostgresSession(const std::string& url);
  ~PostgresSession();
  PostgresSession(const PostgresSession&) = delete;
  PostgresSession& operator=(const PostgresSession&) = delete;

  // The first value of the last statement's result; empty: none. A failure is the test's.
  std::string ask(const std::string& sql);
  // The SQLSTATE that a statement fails with; empty: it does not.
  std::string refusal(const std::string& sql);

 private:
  pg_conn* const raw_;
};

}  // namespace millrace::store
