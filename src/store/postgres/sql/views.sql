-- What users may read: see docs/reference/postgres-schema.md.
CREATE FUNCTION millrace.as_time(ms bigint) RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS 'SELECT to_timestamp(ms / 1000.0)';
-- Bytes that are no JSON which jsonb can hold (it has no \u0000), or no text: null. Before
-- PostgreSQL 17 a parallel plan can't begin the subtransaction that EXCEPTION needs.
CREATE FUNCTION millrace.as_json(bytes bytea) RETURNS jsonb
LANGUAGE plpgsql STABLE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN convert_from(bytes, 'UTF8')::jsonb;
EXCEPTION WHEN OTHERS THEN RETURN NULL;
END $$;
CREATE FUNCTION millrace.as_text(bytes bytea) RETURNS text
LANGUAGE plpgsql STABLE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN convert_from(bytes, 'UTF8');
EXCEPTION WHEN OTHERS THEN RETURN NULL;
END $$;

CREATE VIEW millrace.jobs AS
SELECT id, queue, type, state, priority, attempt,
       millrace.as_time(created_at) AS created_at, millrace.as_time(run_at) AS run_at,
       millrace.as_time(started_at) AS started_at, millrace.as_time(finished_at) AS finished_at,
       millrace.as_text(worker) AS worker, millrace.as_text(error) AS error,
       millrace.as_json(payload) AS payload, payload AS payload_bytes,
       millrace.as_json(result) AS result, result AS result_bytes, shard, ord
FROM millrace.job_rows;
CREATE VIEW millrace.attempts AS
SELECT j.id AS job_id, j.queue, a.n, a.attempt, a.outcome,
       millrace.as_time(a.started_at) AS started_at, millrace.as_time(a.finished_at) AS finished_at,
       millrace.as_text(a.worker) AS worker, millrace.as_text(a.error) AS error, a.shard
FROM millrace.attempt_rows AS a JOIN millrace.job_rows AS j USING (shard, ord);
CREATE VIEW millrace.queues AS
SELECT name, paused, scheduled, ready, running, retrying, blocked, succeeded, dead, cancelled,
       expired, shard
FROM millrace.queue_rows;

CREATE VIEW millrace.schedules AS
SELECT name, cron, every_ms, timezone, queue, managed_by, state,
       millrace.as_time(next_at) AS next_at, millrace.as_time(last_at) AS last_scheduled_at,
       last_job AS last_job_id, version, shard
FROM millrace.schedule_rows;
