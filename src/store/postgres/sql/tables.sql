-- The tables of the schema. Times are in milliseconds since 1970, as everywhere in Millrace.
-- `detail` and the like are messages of events.proto; the views show both in readable form. Tables
-- that are written in bulk are partitioned by shard, and written through the partition itself.
CREATE TABLE millrace.meta(name text PRIMARY KEY, value text NOT NULL);
INSERT INTO millrace.meta VALUES ('store', replace(gen_random_uuid()::text, '-', ''));
INSERT INTO millrace.meta VALUES ('node_secret', encode(sha256(convert_to(concat(
  gen_random_uuid(), gen_random_uuid(), gen_random_uuid()), 'UTF8')), 'hex'));
-- The level of the journal's rows: see store/event_codec.h and Registry::renew.
INSERT INTO millrace.meta VALUES ('format', '1');

CREATE TABLE millrace.nodes(
  node          text COLLATE "C" PRIMARY KEY,
  url           text NOT NULL,
  name          text NOT NULL,
  version       text NOT NULL,
  newest_format bigint NOT NULL,
  started_at    timestamptz NOT NULL,
  draining      boolean NOT NULL DEFAULT false,
  renewed_at    timestamptz,  -- null: known from a shard's leader alone
  expires_at    timestamptz NOT NULL
) WITH (fillfactor = 10, autovacuum_vacuum_threshold = 50, autovacuum_vacuum_scale_factor = 0);

-- A shard's leadership and its projection's progress: the row that both are fenced by.
CREATE TABLE millrace.shards(
  shard                  integer PRIMARY KEY,
  rows_a_table           bigint NOT NULL,
  epoch                  bigint NOT NULL DEFAULT 0,
  seq                    bigint NOT NULL DEFAULT 0,
  checksum               bytea NOT NULL DEFAULT decode(repeat('00', 16), 'hex'),
  at                     bigint NOT NULL DEFAULT 0,
  at_epoch               bigint NOT NULL DEFAULT 0,
  next_token             bigint NOT NULL DEFAULT 1,
  next_ord               bigint NOT NULL DEFAULT 1,
  keys_expired_until     bigint,
  uniques_released_until bigint,
  leader                 text COLLATE "C",
  silent_since           timestamptz,  -- null: its leader has flushed
  silent_epoch           bigint        -- under a later one
) WITH (fillfactor = 10, autovacuum_vacuum_threshold = 50, autovacuum_vacuum_scale_factor = 0);

CREATE TABLE millrace.job_rows(
  shard       integer NOT NULL,
  ord         bigint NOT NULL,
  id          uuid NOT NULL,
  queue       text COLLATE "C" NOT NULL,
  type        text COLLATE "C" NOT NULL,
  state       text COLLATE "C" NOT NULL,
  priority    bigint NOT NULL,
  attempt     bigint NOT NULL,
  created_at  bigint NOT NULL,
  run_at      bigint NOT NULL,
  finished_at bigint,
  started_at  bigint,
  worker      bytea,
  error       bytea,
  detail      bytea NOT NULL,
  payload     bytea NOT NULL,
  result      bytea
) PARTITION BY LIST (shard);

CREATE TABLE millrace.attempt_rows(
  shard       integer NOT NULL,
  ord         bigint NOT NULL,
  n           bigint NOT NULL,
  attempt     bigint NOT NULL,
  started_at  bigint NOT NULL,
  finished_at bigint,
  outcome     text COLLATE "C" NOT NULL,
  worker      bytea,
  error       bytea,
  detail      bytea NOT NULL
) PARTITION BY LIST (shard);

CREATE TABLE millrace.log_rows(
  shard integer NOT NULL,
  ord   bigint NOT NULL,
  seq   bigint NOT NULL,
  n     bigint NOT NULL,
  line  bytea NOT NULL
) PARTITION BY LIST (shard);

CREATE TABLE millrace.mark_rows(
  shard integer NOT NULL,
  ord   bigint NOT NULL,
  flush bigint NOT NULL,
  place bigint NOT NULL,
  mark  bytea NOT NULL,
  PRIMARY KEY (shard, ord, flush, place));
CREATE TABLE millrace.queue_rows(
  shard  integer NOT NULL,
  name   text COLLATE "C" NOT NULL,
  paused boolean NOT NULL,
  scheduled bigint NOT NULL, ready bigint NOT NULL, running bigint NOT NULL,
  retrying bigint NOT NULL, blocked bigint NOT NULL, succeeded bigint NOT NULL,
  dead bigint NOT NULL, cancelled bigint NOT NULL, expired bigint NOT NULL,
  detail bytea NOT NULL,
  PRIMARY KEY (shard, name)
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);
CREATE TABLE millrace.key_rows(
  shard      integer NOT NULL,
  expires_at bigint NOT NULL,
  key        bytea NOT NULL,
  body       bytea NOT NULL,
  job        uuid NOT NULL,
  PRIMARY KEY (shard, expires_at, key));
CREATE TABLE millrace.unique_rows(
  shard integer NOT NULL,
  queue text COLLATE "C" NOT NULL,
  key   bytea NOT NULL,
  job   uuid NOT NULL,
  until bigint NOT NULL,
  PRIMARY KEY (shard, queue, key));
CREATE INDEX unique_rows_by_until ON millrace.unique_rows(shard, until);
CREATE TABLE millrace.ended_lease_rows(
  shard  integer NOT NULL,
  flush  bigint NOT NULL,
  count  bigint NOT NULL,
  leases bytea NOT NULL,
  PRIMARY KEY (shard, flush));
ALTER TABLE millrace.ended_lease_rows ALTER leases SET STORAGE EXTERNAL;  -- it is too random
CREATE TABLE millrace.blob_rows(
  shard   integer NOT NULL,
  name    text COLLATE "C" NOT NULL,
  content bytea NOT NULL,
  PRIMARY KEY (shard, name));
ALTER TABLE millrace.blob_rows ALTER content SET STORAGE EXTERNAL;

CREATE TABLE millrace.schedule_rows(
  shard      integer NOT NULL,
  name       text COLLATE "C" NOT NULL,
  cron       text,
  every_ms   bigint,
  timezone   text NOT NULL,
  queue      text COLLATE "C" NOT NULL,
  managed_by text,
  state      text COLLATE "C" NOT NULL,
  next_at    bigint,
  last_at    bigint,
  last_job   uuid,
  version    bigint NOT NULL,
  detail     bytea NOT NULL,
  PRIMARY KEY (shard, name)
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);
CREATE TABLE millrace.schedule_run_rows(
  shard    integer NOT NULL,
  schedule text COLLATE "C" NOT NULL,
  n        bigint NOT NULL,
  run      bytea NOT NULL,
  PRIMARY KEY (shard, schedule, n));

CREATE TABLE millrace.catalog_rows(
  shard  integer NOT NULL,
  kind   bigint NOT NULL,
  name   text COLLATE "C" NOT NULL,
  detail bytea NOT NULL,
  PRIMARY KEY (shard, kind, name));

CREATE TABLE millrace.limit_rows(
  shard  integer NOT NULL,
  kind   bigint NOT NULL,
  name   text COLLATE "C" NOT NULL,
  detail bytea NOT NULL,
  PRIMARY KEY (shard, kind, name));
CREATE TABLE millrace.bucket_rows(
  shard  integer NOT NULL,
  kind   bigint NOT NULL,
  name   text COLLATE "C" NOT NULL,
  key    bytea NOT NULL,
  detail bytea NOT NULL,
  PRIMARY KEY (shard, kind, name, key));

CREATE TABLE millrace.operation_rows(
  shard  integer NOT NULL,
  id     uuid NOT NULL,
  detail bytea NOT NULL,
  PRIMARY KEY (shard, id)
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);

CREATE TABLE millrace.audit_rows(
  shard  integer NOT NULL,
  n      bigint NOT NULL,
  at     bigint NOT NULL,
  hash   bytea NOT NULL,
  detail bytea NOT NULL,
  PRIMARY KEY (shard, n));
