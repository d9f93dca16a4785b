-- Ends a job, or holds off later generations of it, if and only if the transaction commits.
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
  PERFORM raise_fence(job_id, token, true);
  INSERT INTO inbox_rows(shard, kind, job, token, payload)
  VALUES (shard_of(substr(job_id::text, 16, 3)), 2, job_id, finish.token,
          convert_to(result::text, 'UTF8'));
END $$;

-- The shard alone knows whether the token was the job's, so it is told.
CREATE FUNCTION millrace.fence(job_id uuid, token bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, millrace, pg_temp AS $$
BEGIN
  PERFORM raise_fence(job_id, token, false);
  INSERT INTO inbox_rows(shard, kind, job, token)
  VALUES (shard_of(substr(job_id::text, 16, 3)), 3, job_id, fence.token);
END $$;
