-- Version 2. The end of a job that its workflow keeps is in `kept_at`, and not in `finished_at`: so
-- the index that retention reads, job_rows_S_by_end, leads to no job that it has to pass over.
ALTER TABLE millrace.job_rows ADD COLUMN workflow uuid, ADD COLUMN member bigint,
  ADD COLUMN kept_at bigint;
-- In place of an index on job_rows, whose making would hold up the servers that run.
CREATE TABLE millrace.workflow_job_rows(
  shard    integer NOT NULL,
  ord      bigint NOT NULL,
  workflow uuid NOT NULL,
  PRIMARY KEY (shard, ord));
CREATE INDEX workflow_job_rows_by_workflow ON millrace.workflow_job_rows(shard, workflow, ord);
CREATE OR REPLACE VIEW millrace.jobs AS
SELECT id, queue, type, state, priority, attempt,
       millrace.as_time(created_at) AS created_at, millrace.as_time(run_at) AS run_at,
       millrace.as_time(started_at) AS started_at,
       millrace.as_time(coalesce(finished_at, kept_at)) AS finished_at,
       millrace.as_text(worker) AS worker, millrace.as_text(error) AS error,
       millrace.as_json(payload) AS payload, payload AS payload_bytes,
       millrace.as_json(result) AS result, result AS result_bytes, shard, ord, workflow, member
FROM millrace.job_rows;

-- `over_at`: from when on retention counts. `may_change`: the server's memory has it.
CREATE TABLE millrace.workflow_rows(
  shard      integer NOT NULL,
  id         uuid NOT NULL,
  queue      text COLLATE "C" NOT NULL,
  state      text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  over_at    bigint,
  may_change boolean NOT NULL,
  detail     bytea NOT NULL,
  PRIMARY KEY (shard, id)
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);
CREATE INDEX workflow_rows_by_age ON millrace.workflow_rows(shard, created_at, id);
CREATE INDEX workflow_rows_by_end ON millrace.workflow_rows(shard, queue, state, over_at, id)
  WHERE over_at IS NOT NULL;
CREATE INDEX workflow_rows_live ON millrace.workflow_rows(shard, id) WHERE may_change;
CREATE TABLE millrace.member_chunk_rows(
  shard    integer NOT NULL,
  workflow uuid NOT NULL,
  first    bigint NOT NULL,
  chunk    bytea NOT NULL,
  PRIMARY KEY (shard, workflow, first));
CREATE TABLE millrace.fate_page_rows(
  shard    integer NOT NULL,
  workflow uuid NOT NULL,
  first    bigint NOT NULL,
  page     bytea NOT NULL,
  PRIMARY KEY (shard, workflow, first)
) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_scale_factor = 0);
