-- Version 2, too: workflows in users' own transactions. Row kind 6 of inbox_rows, whose `payload` is
-- the workflow, since it is large.
CREATE FUNCTION millrace.require_workflows() RETURNS void LANGUAGE plpgsql STABLE AS $$
BEGIN
  PERFORM millrace.require((SELECT value::bigint >= 2 FROM millrace.meta WHERE name = 'format'),
    'a node that knows no workflows takes part; try again when all nodes run this version');
END $$;

-- The bounds that a server would otherwise find only after the commit: the shape of a workflow.
-- `argument`: how messages name it.
CREATE FUNCTION millrace.check_workflow(workflow jsonb, argument text) RETURNS void
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  a_name CONSTANT text := '^(?!\.{1,2}$)[A-Za-z0-9._:/-]{1,128}$';
  default_type CONSTANT text := workflow->'defaults'->>'type';
  member jsonb;
  place integer := 0;
BEGIN
  PERFORM millrace.check_argument(coalesce(jsonb_typeof(workflow), '') = 'object', argument,
    'must be an object');
  PERFORM millrace.check_json(workflow, argument);
  PERFORM millrace.check_argument(
    CASE coalesce(jsonb_typeof(workflow->'queue'), 'null') WHEN 'null' THEN true
      WHEN 'string' THEN workflow->>'queue' ~ a_name ELSE false END, argument,
    'queue must have 1 to 128 of the characters A-Z a-z 0-9 . _ : / -, and not be . or ..');
  PERFORM millrace.check_argument(
    coalesce(jsonb_typeof(workflow->'members'), 'null') IN ('array', 'null'), argument,
    'members must be an array');
  IF coalesce(jsonb_typeof(workflow->'members'), 'null') = 'null' THEN RETURN; END IF;
  PERFORM millrace.check_argument(jsonb_array_length(workflow->'members') <= 10000, argument,
    'members must have at most 10000 elements');
  FOR member IN SELECT value FROM jsonb_array_elements(workflow->'members') LOOP
    PERFORM millrace.check_argument(coalesce(jsonb_typeof(member->'job'), '') = 'object', argument,
      format('members.%s.job must be an object', place));
    PERFORM millrace.check_argument(
      coalesce(coalesce(member->'job'->>'type', default_type) ~ a_name, false), argument,
      format('members.%s.job.type must have 1 to 128 of the characters A-Z a-z 0-9 . _ : / -, and '
             'not be . or ..', place));
    place := place + 1;
  END LOOP;
END $$;

-- Creates a workflow, if and only if the transaction commits. It returns the workflow's id.
CREATE FUNCTION millrace.workflow(workflow jsonb, idempotency_key text DEFAULT NULL) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, millrace, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  bits text;
  id uuid;
BEGIN
  PERFORM check_workflow(workflow, 'workflow');
  PERFORM check_argument(idempotency_key ~ '^[!-~]{1,255}$', 'idempotency_key',
    'must be 1 to 255 visible characters');
  PERFORM check_argument(
    coalesce(jsonb_typeof(workflow->'id'), 'null') IN ('string', 'null'), 'workflow',
    'id must be a UUID of version 7');
  PERFORM check_argument(
    lower(workflow->>'id') ~ '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$',
    'workflow', 'id must be a UUID of version 7');
  PERFORM require_workflows();
  bits := queue_bits(coalesce(workflow->>'queue', 'default'));
  id := workflow->>'id';
  PERFORM check_argument(substr(id::text, 16, 3) = bits, 'workflow',
    format('id belongs to another queue: its third group must be 7%s; leave it out', bits));
  IF id IS NULL THEN
    id := (lpad(to_hex(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0')
           || '7' || bits || substr(replace(gen_random_uuid()::text, '-', ''), 17))::uuid;
  END IF;
  INSERT INTO inbox_rows(shard, kind, job, idempotency_key, payload)
  VALUES (shard_of(bits), 6, id, idempotency_key, convert_to(workflow::text, 'UTF8'));
  RETURN id;
END $$;
REVOKE ALL ON FUNCTION millrace.workflow, millrace.require_workflows FROM PUBLIC;

-- A schedule has a job or a workflow.
ALTER FUNCTION millrace.check_schedule RENAME TO check_schedule_of_job;
CREATE FUNCTION millrace.check_schedule(spec jsonb) RETURNS void LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF coalesce(jsonb_typeof(spec->'workflow'), 'null') = 'null' THEN
    PERFORM millrace.check_schedule_of_job(spec);
    RETURN;
  END IF;
  PERFORM millrace.check_argument(coalesce(jsonb_typeof(spec->'job'), 'null') = 'null', 'spec',
    'must not have both job and workflow');
  PERFORM millrace.check_argument(octet_length((spec->'workflow')::text) <= 65536, 'spec',
    'workflow must have at most 65536 bytes');
  PERFORM millrace.check_workflow(spec->'workflow', 'spec');
  -- All else is as of a schedule with a job.
  PERFORM millrace.check_schedule_of_job(jsonb_set(spec - 'workflow', '{job}', '{"type": "t"}'));
  PERFORM millrace.require_workflows();
END $$;
