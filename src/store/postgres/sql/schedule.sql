-- Makes, replaces or deletes a schedule, if and only if the transaction commits. The row goes to
-- the shard of the schedule's name.
CREATE FUNCTION millrace.ask_of_schedule(kind integer, name text, spec jsonb)
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
  PERFORM millrace.check_name(name, 'name');
  PERFORM millrace.check_argument(name <> 'preview', 'name',
    'must not be "preview": that is a call of the API');
  INSERT INTO millrace.inbox_rows(shard, kind, spec, payload)
  VALUES (millrace.shard_of(millrace.queue_bits(name)), kind, to_jsonb(name),
          convert_to(spec::text, 'UTF8'));
END $$;

CREATE FUNCTION millrace.check_schedule(spec jsonb) RETURNS void LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  job CONSTANT jsonb := spec->'job';
  a_name CONSTANT text := '^(?!\.{1,2}$)[A-Za-z0-9._:/-]{1,128}$';
  name_rule CONSTANT text :=
    '%s must have 1 to 128 of the characters A-Z a-z 0-9 . _ : / -, and not be . or ..';
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
  PERFORM ask_of_schedule(4, name, spec);
END $$;

CREATE FUNCTION millrace.unschedule(name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, millrace, pg_temp AS $$
BEGIN
  PERFORM ask_of_schedule(5, name, NULL);
END $$;
