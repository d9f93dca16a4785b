-- `detail` and the other blobs are messages of events.proto. The indexes on jobs are the few that
-- are worth their cost: each one is written for every job.
CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE progress(
  one                    INTEGER PRIMARY KEY CHECK (one = 1),
  seq                    INTEGER NOT NULL,
  checksum               BLOB NOT NULL,
  at                     INTEGER NOT NULL,
  epoch                  INTEGER NOT NULL,
  next_token             INTEGER NOT NULL,
  next_ord               INTEGER NOT NULL,
  keys_expired_until     INTEGER,
  uniques_released_until INTEGER) STRICT;
INSERT INTO progress VALUES (1, 0, zeroblob(16), 0, 0, 1, 1, NULL, NULL);
CREATE TABLE queues(
  id     INTEGER PRIMARY KEY,
  name   TEXT NOT NULL UNIQUE,
  detail BLOB) STRICT;
CREATE TABLE jobs(
  ord         INTEGER PRIMARY KEY,
  id          BLOB NOT NULL,
  queue       INTEGER NOT NULL,
  type        TEXT NOT NULL,
  state       INTEGER NOT NULL,
  priority    INTEGER NOT NULL,
  attempt     INTEGER NOT NULL,
  created_at  INTEGER NOT NULL,
  run_at      INTEGER NOT NULL,
  finished_at INTEGER,
  detail      BLOB NOT NULL,
  payload     TEXT NOT NULL,
  result      TEXT) STRICT;
CREATE UNIQUE INDEX jobs_by_id ON jobs(id);
CREATE INDEX jobs_by_queue ON jobs(queue, state, ord);
CREATE INDEX jobs_by_state ON jobs(state, ord) WHERE state <> 5;
CREATE INDEX jobs_by_end ON jobs(queue, state, finished_at) WHERE state >= 5;
CREATE TABLE attempts(
  ord    INTEGER NOT NULL,
  n      INTEGER NOT NULL,
  detail BLOB NOT NULL,
  PRIMARY KEY (ord, n)) STRICT, WITHOUT ROWID;
CREATE TABLE logs(
  ord  INTEGER NOT NULL,
  seq  INTEGER NOT NULL,
  n    INTEGER NOT NULL,
  line BLOB NOT NULL,
  PRIMARY KEY (ord, seq)) STRICT, WITHOUT ROWID;
CREATE TABLE marks(
  place INTEGER PRIMARY KEY,
  ord   INTEGER NOT NULL,
  mark  BLOB NOT NULL) STRICT;
CREATE INDEX marks_by_ord ON marks(ord);
CREATE TABLE keys(
  expires_at INTEGER NOT NULL,
  key        BLOB NOT NULL,
  body       BLOB NOT NULL,
  job        BLOB NOT NULL,
  PRIMARY KEY (expires_at, key)) STRICT, WITHOUT ROWID;
CREATE TABLE uniques(
  queue TEXT NOT NULL,
  key   BLOB NOT NULL,
  job   BLOB NOT NULL,
  until INTEGER NOT NULL,
  PRIMARY KEY (queue, key)) STRICT, WITHOUT ROWID;
CREATE INDEX uniques_by_until ON uniques(until);
CREATE TABLE ended_leases(
  place  INTEGER PRIMARY KEY,
  count  INTEGER NOT NULL,
  leases BLOB NOT NULL) STRICT;
CREATE TABLE blobs(name TEXT PRIMARY KEY, content BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE schedules(
  name   TEXT PRIMARY KEY,
  detail BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE schedule_runs(
  schedule TEXT NOT NULL,
  n        INTEGER NOT NULL,
  run      BLOB NOT NULL,
  PRIMARY KEY (schedule, n)) STRICT, WITHOUT ROWID;
CREATE TABLE catalog(
  kind   INTEGER NOT NULL,
  name   TEXT NOT NULL,
  detail BLOB NOT NULL,
  PRIMARY KEY (kind, name)) STRICT, WITHOUT ROWID;
CREATE TABLE limits(
  kind   INTEGER NOT NULL,
  name   TEXT NOT NULL,
  detail BLOB NOT NULL,
  PRIMARY KEY (kind, name)) STRICT, WITHOUT ROWID;
CREATE TABLE buckets(
  kind   INTEGER NOT NULL,
  name   TEXT NOT NULL,
  key    BLOB NOT NULL,
  detail BLOB NOT NULL,
  PRIMARY KEY (kind, name, key)) STRICT, WITHOUT ROWID;
CREATE TABLE operations(
  id     BLOB PRIMARY KEY,
  detail BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE audit(
  n      INTEGER PRIMARY KEY,
  at     INTEGER NOT NULL,
  hash   BLOB NOT NULL,
  detail BLOB NOT NULL) STRICT;
