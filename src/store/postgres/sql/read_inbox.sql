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
