-- Submits a job, if and only if the transaction commits.
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
  traceparent text DEFAULT NULL, tracestate text DEFAULT NULL, idempotency_key text DEFAULT NULL,
  limits jsonb DEFAULT NULL, order_key text DEFAULT NULL, order_on_failure text DEFAULT NULL,
  fair_key text DEFAULT NULL, max_wait interval DEFAULT NULL)
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
  PERFORM check_argument(on_conflict IN ('return', 'reject', 'replace', 'debounce'), 'on_conflict',
    'must be "return", "reject", "replace" or "debounce"');
  PERFORM check_argument(max_wait IS NULL OR coalesce(on_conflict, '') = 'debounce', 'max_wait',
    'goes with on_conflict "debounce" only');
  PERFORM check_argument(on_conflict <> 'debounce' OR max_wait IS NOT NULL, 'max_wait',
    'must be given with on_conflict "debounce"');
  PERFORM check_argument(array_ndims(tags) = 1, 'tags', 'must be an array of one dimension');
  PERFORM check_argument(cardinality(tags) <= 32, 'tags', 'must have at most 32 elements');
  FOREACH tag IN ARRAY coalesce(tags, '{}') LOOP PERFORM check_name(tag, 'tags'); END LOOP;
  limits := jsonb_strip_nulls(limits);
  PERFORM check_limits(limits);
  PERFORM check_argument(octet_length(order_key) BETWEEN 1 AND 128, 'order_key',
    'must have 1 to 128 bytes');
  PERFORM check_argument(octet_length(fair_key) BETWEEN 1 AND 128, 'fair_key',
    'must have 1 to 128 bytes');
  PERFORM check_argument(order_key IS NOT NULL OR order_on_failure IS NULL, 'order_on_failure',
    'goes with order_key only');
  PERFORM check_argument(order_on_failure IN ('hold', 'pass'), 'order_on_failure',
    'must be "hold" or "pass"');
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
                           'for_ms', to_ms(unique_for, 0, most_ms, 'unique_for'),
                           'max_wait_ms', to_ms(max_wait, 0, most_ms, 'max_wait')) END,
      'limits', limits, 'order_key', order_key, 'order_on_failure', order_on_failure,
      'fair_key', fair_key,
      'tags', to_jsonb(tags), 'meta', meta, 'traceparent', traceparent, 'tracestate', tracestate)),
    idempotency_key, convert_to(payload::text, 'UTF8'));
  RETURN job;
END $$;

-- The same for triggers. It runs with the rights of the role that writes the table: converting a
-- row to JSON calls casts that the owners of its types have defined.
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
