-- The tables behind the functions for users' own transactions. A row of the inbox is written once
-- and deleted once. Leaders rely on its key (xid, id) when they read: see store/inbox.h.
CREATE TABLE millrace.inbox_rows(
  shard           integer NOT NULL,
  xid             bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
  id              bigint GENERATED ALWAYS AS IDENTITY,
  -- 1: enqueue, 2: finish, 3: fence, 4: schedule, 5: unschedule
  kind            smallint NOT NULL,
  moves           smallint NOT NULL DEFAULT 0,  -- from shard to shard
  at              timestamptz NOT NULL DEFAULT clock_timestamp(),
  job             uuid,
  token           bigint,
  spec            jsonb,                        -- kinds 4 and 5: the name of the schedule
  idempotency_key text,
  -- Or the result, or the specification of a schedule, since it is large; null: none.
  payload         bytea,
  PRIMARY KEY (shard, xid, id)
) WITH (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);
CREATE INDEX inbox_rows_by_job ON millrace.inbox_rows(job) WHERE kind > 1;

CREATE TABLE millrace.inbox_rejected(
  id              bigint PRIMARY KEY,
  rejected_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  reason          text NOT NULL,
  kind            text NOT NULL,
  job             uuid,
  token           bigint,
  spec            jsonb,
  idempotency_key text,
  payload         jsonb,
  at              timestamptz NOT NULL,
  schedule        text);
CREATE INDEX inbox_rejected_by_time ON millrace.inbox_rejected(rejected_at);

-- What generation of a job may still commit what.
CREATE TABLE millrace.fences(
  job      uuid PRIMARY KEY,
  token    bigint NOT NULL,
  finished boolean NOT NULL,
  at       timestamptz NOT NULL,
  before   bigint NOT NULL DEFAULT 0  -- the token that stood here before this one
) WITH (fillfactor = 70);
