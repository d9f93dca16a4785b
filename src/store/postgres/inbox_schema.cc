#include "store/postgres/inbox_schema.h"

namespace millrace::store {

// The functions run with the rights of the schema's owner, so that an application only needs
// EXECUTE on them, which nobody has until it is granted. The trigger function is the exception:
// converting a row to JSON calls casts that the owners of its types have defined. The bounds are
// those of api/bounds.h, with a server's default limits.
//
// A row of the inbox is written once and deleted once. Leaders rely on its key (xid, id) when they
// read: see store/inbox.h.
const char* const kInboxMigration = R"sql(
-- The level of the journal's rows: see store/event_codec.h and Registry::renew.
INSERT INTO millrace.meta VALUES ('format', '1');

CREATE TABLE millrace.inbox_rows(
  shard           integer NOT NULL,
  xid             bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
  id              bigint GENERATED ALWAYS AS IDENTITY,
  kind            smallint NOT NULL,            -- 1: enqueue, 2: finish
  moves           smallint NOT NULL DEFAULT 0,  -- from shard to shard
  at              timestamptz NOT NULL DEFAULT clock_timestamp(),
  job             uuid NOT NULL,
  token           bigint,
  spec            jsonb,
  idempotency_key text,
  payload         bytea,                        -- or the result; null: none
  PRIMARY KEY (shard, xid, id)
) WITH (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);
CREATE INDEX inbox_rows_by_job ON millrace.inbox_rows(job) WHERE kind = 2;

CREATE TABLE millrace.inbox_rejected(
  id              bigint PRIMARY KEY,
  rejected_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  reason          text NOT NULL,
  kind            text NOT NULL,
  job             uuid NOT NULL,
  token           bigint,
  spec            jsonb,
  idempotency_key text,
  payload         jsonb,
  at              timestamptz NOT NULL);
CREATE INDEX inbox_rejected_by_time ON millrace.inbox_rejected(rejected_at);

-- What generation of a job may still commit what.
CREATE TABLE millrace.fences(
  job      uuid PRIMARY KEY,
  token    bigint NOT NULL,
  finished boolean NOT NULL,
  at       timestamptz NOT NULL,
  before   bigint NOT NULL DEFAULT 0  -- the token that stood here before this one
) WITH (fillfactor = 70);

CREATE FUNCTION millrace.check_argument(fulfilled boolean, argument text, rule text) RETURNS void
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF NOT fulfilled THEN  -- null: the argument was left out
    RAISE EXCEPTION '%: %', argument, rule USING ERRCODE = '22023';
  END IF;
END $$;

CREATE FUNCTION millrace.check_name(name text, argument text) RETURNS void
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  PERFORM millrace.check_argument(coalesce(name, '') ~ '^[A-Za-z0-9._:/-]{1,128}$', argument,
    'must have 1 to 128 of the characters A-Z a-z 0-9 . _ : / -');
END $$;

CREATE FUNCTION millrace.check_json(content jsonb, argument text) RETURNS void
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  bytes CONSTANT integer := octet_length(content::text);
BEGIN
  PERFORM millrace.check_argument(bytes <= 1048576, argument, 'must have at most 1048576 bytes');
  IF bytes > 120 THEN
    PERFORM millrace.check_argument(NOT jsonb_path_exists(content,
      'strict $.**{63} ? (@.type() == "object" || @.type() == "array")'), argument,
      'must be nested at most 63 deep');
  END IF;
END $$;

CREATE FUNCTION millrace.to_ms(length interval, low bigint, high bigint, argument text)
RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF length IS NULL THEN RETURN NULL; END IF;
  IF isfinite(length) AND floor(extract(epoch FROM length) * 1000) BETWEEN low AND high THEN
    RETURN floor(extract(epoch FROM length) * 1000);
  END IF;
  PERFORM millrace.check_argument(false, argument,
    format('must be an interval of %s ms to %s ms', low, high));
END $$;

CREATE FUNCTION millrace.to_rfc3339(instant timestamptz, argument text) RETURNS text
LANGUAGE plpgsql STABLE AS $$
BEGIN
  PERFORM millrace.check_argument(
    instant >= '0001-01-01 00:00:00+00' AND instant < '9999-12-31 23:59:59.999+00', argument,
    'must be an instant of the years 1 to 9999');
  RETURN to_char(date_trunc('milliseconds', instant AT TIME ZONE 'UTC'),
                 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
END $$;

CREATE FUNCTION millrace.check_retry(retry jsonb) RETURNS void LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  strategy text;
  member record;
  is_ms CONSTANT text := '^(0|[1-9][0-9]{0,11})$';
  most_ms CONSTANT bigint := 315360000000;
BEGIN
  IF retry IS NULL THEN RETURN; END IF;
  PERFORM millrace.check_argument(jsonb_typeof(retry) = 'object', 'retry', 'must be an object');
  strategy := retry->>'strategy';
  PERFORM millrace.check_argument(
    coalesce(strategy, '') IN ('exponential', 'linear', 'fixed', 'list'), 'retry',
    'strategy must be "exponential", "linear", "fixed" or "list"');
  PERFORM millrace.check_argument(strategy <> 'list' OR retry ? 'delays_ms', 'retry',
    'delays_ms is required with "list"');
  FOR member IN SELECT key, value FROM jsonb_each(retry) WHERE key <> 'strategy' LOOP
    PERFORM millrace.check_argument(
      member.key IN ('base_ms', 'max_ms', 'jitter', 'delays_ms'), 'retry',
      format('%s is no member of it', member.key));
    PERFORM millrace.check_argument((member.key = 'delays_ms') = (strategy = 'list'), 'retry',
      format('%s does not go with this strategy', member.key));
    IF member.key = 'jitter' THEN
      PERFORM millrace.check_argument(
        CASE WHEN jsonb_typeof(member.value) = 'number' THEN member.value::numeric BETWEEN 0 AND 1
             ELSE false END, 'retry', 'jitter must be a number from 0 to 1');
    ELSIF member.key = 'delays_ms' THEN
      PERFORM millrace.check_argument(
        CASE WHEN jsonb_typeof(member.value) = 'array' THEN
          jsonb_array_length(member.value) BETWEEN 1 AND 100 AND
          (SELECT bool_and(CASE WHEN delay::text ~ is_ms THEN delay::text::bigint <= most_ms
                                ELSE false END)
           FROM jsonb_array_elements(member.value) AS delay)
        ELSE false END, 'retry', 'delays_ms must be 1 to 100 integers from 0 to 315360000000');
    ELSE
      PERFORM millrace.check_argument(
        CASE WHEN member.value::text ~ is_ms THEN member.value::text::bigint <= most_ms
             ELSE false END, 'retry',
        format('%s must be an integer from 0 to 315360000000', member.key));
    END IF;
  END LOOP;
END $$;

CREATE FUNCTION millrace.check_meta(meta jsonb) RETURNS void LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF meta IS NULL THEN RETURN; END IF;
  PERFORM millrace.check_argument(
    CASE WHEN jsonb_typeof(meta) = 'object' THEN
      NOT EXISTS (SELECT FROM jsonb_each(meta) WHERE jsonb_typeof(value) <> 'string')
    ELSE false END, 'meta', 'must be an object of strings');
  PERFORM millrace.check_argument(octet_length(meta::text) <= 8192, 'meta',
    'must have at most 8192 bytes');
END $$;

CREATE FUNCTION millrace.check_trace(traceparent text, tracestate text) RETURNS void
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  PERFORM millrace.check_argument(
    traceparent ~ '^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-[!-~]*)?$'
    AND traceparent !~ '^(ff|00.{53}.)' AND octet_length(traceparent) <= 512
    AND substr(traceparent, 4, 32) ~ '[^0]' AND substr(traceparent, 37, 16) ~ '[^0]',
    'traceparent', 'must be a W3C traceparent');
  PERFORM millrace.check_argument(
    octet_length(tracestate) <= 512 AND tracestate ~ '^[ -~\t]*$', 'tracestate',
    'must be a W3C tracestate of at most 512 characters');
END $$;

-- The first 12 bits of SHA-256 of a queue's name, in hexadecimal: where its jobs lie.
CREATE FUNCTION millrace.queue_bits(queue text) RETURNS text LANGUAGE sql IMMUTABLE STRICT
AS 'SELECT left(encode(sha256(convert_to(queue, ''UTF8'')), ''hex''), 3)';
CREATE FUNCTION millrace.shard_of(bits text) RETURNS integer LANGUAGE sql STABLE STRICT
AS 'SELECT (''x'' || bits)::bit(12)::integer % value::integer FROM millrace.meta
    WHERE name = ''shards''';

CREATE FUNCTION millrace.enqueue(
  type text, payload jsonb DEFAULT 'null', queue text DEFAULT 'default', id uuid DEFAULT NULL,
  priority integer DEFAULT 0, run_at timestamptz DEFAULT NULL, delay interval DEFAULT NULL,
  expires_at timestamptz DEFAULT NULL, expires_in interval DEFAULT NULL,
  max_attempts integer DEFAULT NULL, retry jsonb DEFAULT NULL, lease interval DEFAULT NULL,
  timeout interval DEFAULT NULL, unique_key text DEFAULT NULL, unique_for interval DEFAULT NULL,
  on_conflict text DEFAULT NULL, tags text[] DEFAULT NULL, meta jsonb DEFAULT NULL,
  traceparent text DEFAULT NULL, tracestate text DEFAULT NULL, idempotency_key text DEFAULT NULL)
RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, millrace, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  most_ms CONSTANT bigint := 315360000000;  -- ten years
  bits text;
  job uuid := id;
  tag text;
BEGIN
  PERFORM check_name(type, 'type');
  PERFORM check_name(queue, 'queue');
  payload := coalesce(payload, 'null');
  PERFORM check_json(payload, 'payload');
  PERFORM check_argument(id::text ~ '^.{14}7.{4}[89ab]', 'id', 'must be a UUID of version 7');
  PERFORM check_argument(priority BETWEEN -32768 AND 32767, 'priority',
    'must be from -32768 to 32767');
  PERFORM check_argument(run_at IS NULL OR delay IS NULL, 'delay',
    'must not be given together with run_at');
  PERFORM check_argument(expires_at IS NULL OR expires_in IS NULL, 'expires_in',
    'must not be given together with expires_at');
  PERFORM check_argument(max_attempts BETWEEN 1 AND 1000, 'max_attempts', 'must be from 1 to 1000');
  retry := jsonb_strip_nulls(retry);
  PERFORM check_retry(retry);
  PERFORM check_argument(octet_length(unique_key) BETWEEN 1 AND 255, 'unique_key',
    'must have 1 to 255 bytes');
  PERFORM check_argument(unique_key IS NOT NULL OR unique_for IS NULL, 'unique_for',
    'goes with unique_key only');
  PERFORM check_argument(unique_key IS NOT NULL OR on_conflict IS NULL, 'on_conflict',
    'goes with unique_key only');
  PERFORM check_argument(on_conflict IN ('return', 'reject', 'replace'), 'on_conflict',
    'must be "return", "reject" or "replace"');
  PERFORM check_argument(array_ndims(tags) = 1, 'tags', 'must be an array of one dimension');
  PERFORM check_argument(cardinality(tags) <= 32, 'tags', 'must have at most 32 elements');
  FOREACH tag IN ARRAY coalesce(tags, '{}') LOOP PERFORM check_name(tag, 'tags'); END LOOP;
  PERFORM check_meta(meta);
  PERFORM check_trace(traceparent, tracestate);
  PERFORM check_argument(idempotency_key ~ '^[!-~]{1,255}$', 'idempotency_key',
    'must be 1 to 255 visible characters');

  bits := queue_bits(queue);
  IF job IS NULL THEN
    job := (lpad(to_hex(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0')
            || '7' || bits || substr(replace(gen_random_uuid()::text, '-', ''), 17))::uuid;
  END IF;
  INSERT INTO inbox_rows(shard, kind, job, spec, idempotency_key, payload)
  VALUES (shard_of(bits), 1, job,
    jsonb_strip_nulls(jsonb_build_object(
      'type', type, 'queue', queue, 'id', id, 'priority', nullif(priority, 0),
      'run_at', to_rfc3339(run_at, 'run_at'), 'delay_ms', to_ms(delay, 0, most_ms, 'delay'),
      'expires_at', to_rfc3339(expires_at, 'expires_at'),
      'expires_in_ms', to_ms(expires_in, 0, most_ms, 'expires_in'),
      'max_attempts', max_attempts, 'retry', retry,
      'lease_ms', to_ms(lease, 1000, 86400000, 'lease'),
      'timeout_ms', to_ms(timeout, 1, most_ms, 'timeout'),
      'unique', CASE WHEN unique_key IS NOT NULL THEN
        jsonb_build_object('key', unique_key, 'on_conflict', on_conflict,
                           'for_ms', to_ms(unique_for, 0, most_ms, 'unique_for')) END,
      'tags', to_jsonb(tags), 'meta', meta, 'traceparent', traceparent, 'tracestate', tracestate)),
    idempotency_key, convert_to(payload::text, 'UTF8'));
  RETURN job;
END $$;

CREATE FUNCTION millrace.enqueue_row() RETURNS trigger
LANGUAGE plpgsql SECURITY INVOKER SET search_path = pg_catalog, millrace, pg_temp AS $$
BEGIN
  PERFORM check_argument(TG_LEVEL = 'ROW' AND TG_NARGS BETWEEN 1 AND 2, 'millrace.enqueue_row',
    'is for triggers FOR EACH ROW, with a type and perhaps a queue');
  PERFORM enqueue(
    type => TG_ARGV[0], queue => coalesce(TG_ARGV[1], 'default'),
    payload => jsonb_build_object(
      'op', lower(TG_OP), 'table', TG_TABLE_SCHEMA || '.' || TG_TABLE_NAME,
      'row', CASE TG_OP WHEN 'DELETE' THEN to_jsonb(OLD) ELSE to_jsonb(NEW) END));
  RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$;

-- When an id (a UUID of version 7) was made, as it says.
CREATE FUNCTION millrace.id_time(id uuid) RETURNS timestamptz LANGUAGE sql IMMUTABLE STRICT
AS 'SELECT to_timestamp(
      (''x'' || left(replace(id::text, ''-'', ''''), 12))::bit(48)::bigint / 1000.0)';

CREATE FUNCTION millrace.raise_fence(job_id uuid, lease_token bigint, finishes boolean)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  standing record;
BEGIN
  PERFORM millrace.check_argument(job_id IS NOT NULL, 'job_id', 'must not be null');
  PERFORM millrace.check_argument(coalesce(lease_token, 0) BETWEEN 1 AND 9007199254740991, 'token',
    'must be the token of a lease');
  INSERT INTO millrace.fences AS fence(job, token, finished, at)
  VALUES (job_id, lease_token, finishes, clock_timestamp())
  ON CONFLICT (job) DO UPDATE
    SET token = excluded.token, finished = excluded.finished, before = fence.token,
        at = excluded.at
    WHERE NOT fence.finished AND fence.token <= excluded.token;
  IF NOT FOUND THEN
    SELECT fence.finished, fence.token INTO standing
    FROM millrace.fences AS fence WHERE fence.job = job_id;
    IF standing.finished THEN
      RAISE EXCEPTION 'job % was finished already', job_id USING ERRCODE = 'ML002';
    END IF;
    RAISE EXCEPTION 'the token of job % is out of date: a later generation has begun', job_id
      USING ERRCODE = 'ML003';
  END IF;
  -- Or the fence was there, and was swept after the job had gone.
  IF millrace.id_time(job_id) < clock_timestamp() - interval '1 day'
     AND NOT EXISTS (SELECT FROM millrace.job_rows WHERE id = job_id) THEN
    RAISE EXCEPTION 'there is no job %: it has ended, and is forgotten', job_id
      USING ERRCODE = 'ML004';
  END IF;
END $$;

CREATE FUNCTION millrace.finish(job_id uuid, token bigint, result jsonb DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, millrace, pg_temp AS $$
BEGIN
  PERFORM check_json(result, 'result');
  IF NOT EXISTS (SELECT FROM meta WHERE name = 'format' AND value::bigint >= 2) THEN
    RAISE EXCEPTION 'a node that does not know millrace.finish is still there: finish the upgrade'
      USING ERRCODE = '55000';
  END IF;
  PERFORM raise_fence(job_id, token, true);
  INSERT INTO inbox_rows(shard, kind, job, token, payload)
  VALUES (shard_of(substr(job_id::text, 16, 3)), 2, job_id, finish.token,
          convert_to(result::text, 'UTF8'));
END $$;

CREATE FUNCTION millrace.fence(job_id uuid, token bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, millrace, pg_temp AS $$
BEGIN
  PERFORM raise_fence(job_id, token, false);
END $$;

-- What a leader polls: for each shard (its place in `shards`, `xids`, `ids`) the rows after that
-- place, and those of transactions that were open when it went by. At most 1,000 rows and 4 MiB of
-- a shard, or one row; `candidates` tells of how many they are the first.
CREATE FUNCTION millrace.read_inbox(
  shards bigint[], xids bigint[], ids bigint[],
  open_shards bigint[], open_xids bigint[], open_ids bigint[])
RETURNS TABLE(shard bigint, snapshot text, candidates bigint, xid bigint, id bigint, kind bigint,
              moves bigint, at_ms bigint, job uuid, token bigint, spec text, idempotency_key text,
              payload bytea)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off AS $$
#variable_conflict use_column
BEGIN
  -- Nearly always there is nothing, and that is cheap to say.
  IF NOT EXISTS (
    SELECT FROM unnest(shards, xids, ids) AS led(shard, xid, id) CROSS JOIN LATERAL (
      SELECT FROM millrace.inbox_rows AS after
      WHERE after.shard = led.shard AND (after.xid, after.id) > (led.xid, led.id) LIMIT 1) AS fresh)
  AND NOT EXISTS (
    SELECT FROM unnest(open_shards, open_xids, open_ids) AS behind(shard, xid, id)
    CROSS JOIN LATERAL (
      SELECT FROM millrace.inbox_rows AS row WHERE row.shard = behind.shard
      AND row.xid = behind.xid AND row.id > behind.id LIMIT 1) AS late) THEN
    RETURN QUERY SELECT led, pg_current_snapshot()::text, NULL::bigint, NULL::bigint, NULL::bigint,
      NULL::bigint, NULL::bigint, NULL::bigint, NULL::uuid, NULL::bigint, NULL::text, NULL::text,
      NULL::bytea FROM unnest(shards) AS led;
    RETURN;
  END IF;
  RETURN QUERY
  SELECT led.shard, pg_current_snapshot()::text, page.candidates, page.xid, page.id,
         page.kind::bigint, page.moves::bigint,
         floor(extract(epoch FROM page.at) * 1000)::bigint, page.job, page.token, page.spec::text,
         page.idempotency_key, page.payload
  FROM unnest(shards, xids, ids) AS led(shard, xid, id)
  LEFT JOIN LATERAL (
    SELECT *, count(*) OVER () AS candidates,
           sum(bytes) OVER (ORDER BY first.xid, first.id) AS until
    FROM (
      SELECT *, coalesce(octet_length(payload), 0) AS bytes FROM (
        (SELECT * FROM millrace.inbox_rows AS after
         WHERE after.shard = led.shard AND (after.xid, after.id) > (led.xid, led.id)
         ORDER BY after.xid, after.id LIMIT 1000)
        UNION ALL
        (SELECT late.* FROM unnest(open_shards, open_xids, open_ids) AS behind(shard, xid, id)
         CROSS JOIN LATERAL (
           SELECT * FROM millrace.inbox_rows AS row
           WHERE row.shard = behind.shard AND row.xid = behind.xid AND row.id > behind.id
           ORDER BY row.id LIMIT 1000) AS late
         WHERE behind.shard = led.shard)) AS either
      ORDER BY either.xid, either.id LIMIT 1000) AS first) AS page
    ON page.until - page.bytes < 4194304
  ORDER BY led.shard, page.xid, page.id;
END $$;

REVOKE ALL ON FUNCTION millrace.enqueue, millrace.enqueue_row, millrace.finish, millrace.fence,
  millrace.raise_fence, millrace.read_inbox FROM PUBLIC;
)sql";

// A raised fence is reported to the shard, which alone knows whether the token was the job's.
const char* const kFencesMigration = R"sql(
DROP INDEX millrace.inbox_rows_by_job;
CREATE INDEX inbox_rows_by_job ON millrace.inbox_rows(job) WHERE kind > 1;
COMMENT ON COLUMN millrace.inbox_rows.kind IS '1: enqueue, 2: finish, 3: fence';

CREATE OR REPLACE FUNCTION millrace.fence(job_id uuid, token bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, millrace, pg_temp AS $$
BEGIN
  PERFORM raise_fence(job_id, token, false);
  -- Until the last node that does not know of such rows is gone, a fence is believed as it is.
  IF EXISTS (SELECT FROM meta WHERE name = 'format' AND value::bigint >= 3) THEN
    INSERT INTO inbox_rows(shard, kind, job, token)
    VALUES (shard_of(substr(job_id::text, 16, 3)), 3, job_id, fence.token);
  END IF;
END $$;
)sql";

// The rows of schedules keep their specification where it counts as a payload, since it is large.
// An older program would reject such rows, so there are none while it takes part.
const char* const kScheduleCallsMigration = R"sql(
COMMENT ON COLUMN millrace.inbox_rows.kind IS
  '1: enqueue, 2: finish, 3: fence, 4: schedule, 5: unschedule';
COMMENT ON COLUMN millrace.inbox_rows.spec IS 'kinds 4 and 5: the name of the schedule';
COMMENT ON COLUMN millrace.inbox_rows.payload IS
  'or the result, or the specification of the schedule; null: none';
ALTER TABLE millrace.inbox_rows ALTER COLUMN job DROP NOT NULL;
ALTER TABLE millrace.inbox_rejected ALTER COLUMN job DROP NOT NULL,
  ADD COLUMN schedule text;

-- A row for the shard of the schedule's name. Level 5: all nodes know schedules (EventFormat in
-- store/event_codec.h).
CREATE FUNCTION millrace.ask_of_schedule(called text, kind integer, name text, spec jsonb)
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
  PERFORM millrace.check_name(name, 'name');
  PERFORM millrace.check_argument(name <> 'preview', 'name',
    'must not be "preview": that is a call of the API');
  IF NOT EXISTS (SELECT FROM millrace.meta AS fact
                 WHERE fact.name = 'format' AND fact.value::bigint >= 5) THEN
    RAISE EXCEPTION 'a node that does not know % is still there: finish the upgrade', called
      USING ERRCODE = '55000';
  END IF;
  INSERT INTO millrace.inbox_rows(shard, kind, spec, payload)
  VALUES (millrace.shard_of(millrace.queue_bits(name)), kind, to_jsonb(name),
          convert_to(spec::text, 'UTF8'));
END $$;

CREATE FUNCTION millrace.check_schedule(spec jsonb) RETURNS void LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  job CONSTANT jsonb := spec->'job';
  a_name CONSTANT text := '^[A-Za-z0-9._:/-]{1,128}$';
  name_rule CONSTANT text := '%s must have 1 to 128 of the characters A-Z a-z 0-9 . _ : / -';
BEGIN
  PERFORM millrace.check_argument(coalesce(jsonb_typeof(spec), '') = 'object', 'spec',
    'must be an object');
  PERFORM millrace.check_json(spec, 'spec');
  PERFORM millrace.check_argument((spec->>'cron' IS NULL) <> (spec->>'every_ms' IS NULL), 'spec',
    'must have either cron or every_ms');
  PERFORM millrace.check_argument(
    coalesce(jsonb_typeof(spec->'cron'), 'null') IN ('string', 'null'), 'spec',
    'cron must be a string');
  PERFORM millrace.check_argument(octet_length(spec->>'cron') BETWEEN 1 AND 512, 'spec',
    'cron must have 1 to 512 bytes');
  PERFORM millrace.check_argument(
    CASE WHEN spec->>'every_ms' IS NULL THEN true
         WHEN (spec->'every_ms')::text ~ '^[1-9][0-9]{3,11}$' THEN
           (spec->>'every_ms')::bigint <= 315360000000
         ELSE false END, 'spec', 'every_ms must be an integer from 1000 to 315360000000');
  PERFORM millrace.check_argument(coalesce(jsonb_typeof(job), '') = 'object', 'spec',
    'job must be an object');
  PERFORM millrace.check_argument(
    CASE jsonb_typeof(job->'type') WHEN 'string' THEN job->>'type' ~ a_name ELSE false END, 'spec',
    format(name_rule, 'job.type'));
  PERFORM millrace.check_argument(
    CASE coalesce(jsonb_typeof(job->'queue'), 'null') WHEN 'null' THEN true
      WHEN 'string' THEN job->>'queue' ~ a_name ELSE false END, 'spec',
    format(name_rule, 'job.queue'));
  PERFORM millrace.check_argument(octet_length((job->'payload')::text) <= 65536, 'spec',
    'job.payload must have at most 65536 bytes');
END $$;

CREATE FUNCTION millrace.schedule(name text, spec jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, millrace, pg_temp AS $$
BEGIN
  PERFORM check_schedule(spec);
  PERFORM ask_of_schedule('millrace.schedule', 4, name, spec);
END $$;

CREATE FUNCTION millrace.unschedule(name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, millrace, pg_temp AS $$
BEGIN
  PERFORM ask_of_schedule('millrace.unschedule', 5, name, NULL);
END $$;

REVOKE ALL ON FUNCTION millrace.schedule, millrace.unschedule, millrace.ask_of_schedule
  FROM PUBLIC;
)sql";

}  // namespace millrace::store
