-- The partitions of shard {0}. The indexes on jobs are the few that are worth their cost: each one
-- is written for every job. Those for searches end with `ord + 0`, so that only they match the order
-- of a search: with plain `ord` the planner might walk the primary key instead, past millions of
-- rows of other queues.
CREATE TABLE IF NOT EXISTS millrace.job_rows_{0} PARTITION OF millrace.job_rows
  (PRIMARY KEY (ord)) FOR VALUES IN ({0})
  WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
CREATE UNIQUE INDEX IF NOT EXISTS job_rows_{0}_by_id ON millrace.job_rows_{0}(id);
CREATE INDEX IF NOT EXISTS job_rows_{0}_by_queue ON millrace.job_rows_{0}(queue, state, (ord + 0));
CREATE INDEX IF NOT EXISTS job_rows_{0}_by_state ON millrace.job_rows_{0}(state, (ord + 0))
  WHERE state <> 'succeeded';
CREATE INDEX IF NOT EXISTS job_rows_{0}_by_end
  ON millrace.job_rows_{0}(queue, state, finished_at, ord) WHERE finished_at IS NOT NULL;
CREATE TABLE IF NOT EXISTS millrace.attempt_rows_{0} PARTITION OF millrace.attempt_rows
  (PRIMARY KEY (ord, n)) FOR VALUES IN ({0});
CREATE TABLE IF NOT EXISTS millrace.log_rows_{0} PARTITION OF millrace.log_rows
  (PRIMARY KEY (ord, seq)) FOR VALUES IN ({0});
