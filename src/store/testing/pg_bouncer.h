// PgBouncer in front of a test's PostgreSQL, in transaction mode, so that each transaction may run
// in another session. It ends with the object.
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

  // The URL that leads through it to a database of the cluster.
  std::string url(const std::string& direct) const;

 private:
  const TemporaryDirectory directory_;
  int port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace millrace::store
