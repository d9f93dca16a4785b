// Measures how many lifecycles a second PostgreSQL accepts if each step is one journal row per
// batch, in its own synced transaction, and nothing else is done. A prepared statement, values
// stored plainly, no autovacuum: like the journal of the PostgreSQL store.
//
//     postgres_limit URL JOBS BATCH PAYLOAD
#include <libpq-fe.h>

#include "limit_program.h"

namespace millrace::bench {
namespace {

constexpr const char* kTable =
    "CREATE TABLE journal(seq bigint PRIMARY KEY, body bytea NOT NULL) "
    "WITH (autovacuum_enabled = false, toast.autovacuum_enabled = false);"
    "ALTER TABLE journal ALTER body SET STORAGE EXTERNAL";
constexpr const char* kInsert = "INSERT INTO journal(seq, body) VALUES ($1, $2)";
constexpr const char* kStatement = "append";
constexpr Oid kBigint = 20;
constexpr Oid kBytea = 17;
constexpr std::array<Oid, 2> kTypes = {kBigint, kBytea};

void expect(PGconn* connection, PGresult* result) {
  if (PQresultStatus(result) != PGRES_COMMAND_OK) fail(PQerrorMessage(connection));
  PQclear(result);
}

void insert(PGconn* connection, std::uint64_t sequence, const std::string& body) {
  std::array<char, sizeof(sequence)> number{};
  for (std::size_t i = 0; i < number.size(); ++i) {
    number.at(number.size() - 1 - i) = static_cast<char>(sequence >> (8 * i));
  }
  const std::array<const char*, 2> values = {number.data(), body.data()};
  const std::array<int, 2> lengths = {static_cast<int>(number.size()),
                                      static_cast<int>(body.size())};
  const std::array<int, 2> binary = {1, 1};
  expect(connection, PQexecPrepared(connection, kStatement, 2, values.data(), lengths.data(),
                                    binary.data(), 1));
}

void run(const char* url, std::uint64_t jobs, std::size_t batch, std::size_t payload) {
  PGconn* connection = PQconnectdb(url);
  if (PQstatus(connection) != CONNECTION_OK) fail(PQerrorMessage(connection));
  expect(connection, PQexec(connection, kTable));
  expect(connection, PQprepare(connection, kStatement, kInsert, 2, kTypes.data()));
  const auto steps = lifecycle_batches(batch, payload);
  std::uint64_t done = 0;
  std::uint64_t sequence = 0;
  const Stopwatch watch;
  while (done < jobs) {
    // A statement outside BEGIN is a separate transaction: committed and synced when it returns.
    for (const std::string& step : steps) insert(connection, ++sequence, step);
    done += batch;
  }
  report("lifecycles_per_s", done, watch.seconds());
  PQfinish(connection);
}

}  // namespace
}  // namespace millrace::bench

int main(int argc, char** argv) {
  using namespace millrace::bench;
  if (argc != 5) fail("usage: postgres_limit URL JOBS BATCH PAYLOAD");
  run(argv[1], number(argv[2]), number(argv[3]), number(argv[4]));
}
