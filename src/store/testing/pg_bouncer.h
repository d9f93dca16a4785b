// PgBouncer in front of a test's PostgreSQL, in transaction mode: each transaction may run in
// another session. Ends with the object.
#pragma once

#include <sys/types.h>

#include <string>

#include "store/testing/postgres_cluster.h"

namespace millrace::store {

class PgBouncer {
 public:
  explicit PgBouncer(const PostgresCluster& cluster);
  ~PgBouncer();
  PgBouncer(const PgBouncer&) = delete;
  PgBouncer& operator=(const PgBouncer&) = delete;

  // The way through it to a database of the cluster's.
  std::string url(const std::string& direct) const;

 private:
  const TemporaryDirectory directory_;
  int port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace millrace::store
