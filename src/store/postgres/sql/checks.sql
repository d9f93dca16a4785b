-- The bounds of arguments: those of api/bounds.h, with a server's default limits.
CREATE FUNCTION millrace.require(fulfilled boolean, what text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF fulfilled IS NOT TRUE THEN RAISE EXCEPTION '%', what USING ERRCODE = 'ML001'; END IF;
END $$;

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
  PERFORM millrace.check_argument(name NOT IN ('.', '..'), argument,
    'must not be . or .., which URLs leave out');
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

CREATE FUNCTION millrace.check_limits(limits jsonb) RETURNS void LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  named jsonb;
BEGIN
  IF limits IS NULL THEN RETURN; END IF;
  PERFORM millrace.check_argument(jsonb_typeof(limits) = 'array', 'limits', 'must be an array');
  PERFORM millrace.check_argument(jsonb_array_length(limits) <= 8, 'limits',
    'must have at most 8 elements');
  FOR named IN SELECT value FROM jsonb_array_elements(limits) LOOP
    PERFORM millrace.check_argument(
      CASE WHEN jsonb_typeof(named) = 'object' THEN
        NOT EXISTS (SELECT FROM jsonb_object_keys(named) AS member
                    WHERE member NOT IN ('name', 'key', 'cost'))
      ELSE false END, 'limits', 'must be objects of name, key and cost');
    PERFORM millrace.check_argument(
      coalesce(jsonb_typeof(named->'name'), '') = 'string'
      AND coalesce(jsonb_typeof(named->'key'), 'string') = 'string', 'limits',
      'name and key must be strings');
    PERFORM millrace.check_name(named->>'name', 'limits');
    PERFORM millrace.check_argument(octet_length(named->>'key') BETWEEN 1 AND 255, 'limits',
      'key must have 1 to 255 bytes');
    PERFORM millrace.check_argument(
      CASE WHEN named ? 'cost' THEN
        CASE WHEN (named->'cost')::text ~ '^[1-9][0-9]{0,6}$' THEN
          (named->>'cost')::bigint <= 1000000 ELSE false END
      END, 'limits', 'cost must be an integer from 1 to 1000000');
  END LOOP;
END $$;
