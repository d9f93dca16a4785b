// A PostgreSQL server for a test: a cluster in a temporary directory, on a free port, run as an
// ordinary user. It ends with the object, or with the process if that ends first.
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

  // The cluster that the tests of this binary share; each test has databases of its own.
  static PostgresCluster& shared();

  std::string url(const std::string& database) const;
  // Creates an empty database with a new name; returns its URL.
  std::string new_database(const std::string& like = "template1");
  void drop_database(const std::string& url);

  int port() const { return port_; }
  const std::string& directory() const { return directory_.path(); }
  // Restarts the server after stop(); waits until it answers.
  void start();
  // SIGINT: fast shutdown; SIGQUIT: without saving anything. Waits until the server has ended.
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

  // The first value of the last statement's result; empty: none. A failing statement fails the
  // test.
  std::string ask(const std::string& sql);
  // The SQLSTATE that the statement fails with; empty: it succeeds.
  std::string refusal(const std::string& sql);

 private:
  pg_conn* const raw_;
};

}  // namespace millrace::store
