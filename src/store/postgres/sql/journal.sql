-- Table {1} of the ring that holds the journal of shard {0}. It has no dead rows and is soon
-- emptied, so vacuuming is useless. Bodies are not compressed: it costs more time than it saves.
CREATE TABLE IF NOT EXISTS millrace.journal_{0}_{1}(
  seq         bigint PRIMARY KEY,
  epoch       bigint NOT NULL,
  at          timestamptz NOT NULL DEFAULT clock_timestamp(),
  predecessor bytea NOT NULL,
  checksum    bytea NOT NULL,
  body        bytea NOT NULL
) WITH (autovacuum_enabled = false, toast.autovacuum_enabled = false);
ALTER TABLE millrace.journal_{0}_{1} ALTER body SET STORAGE EXTERNAL;
