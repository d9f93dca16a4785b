-- Format 2. The end of a job that its workflow keeps is in `kept_at`, and not in `finished_at`: so
-- the index that retention reads, jobs_by_end, leads to no job that it has to pass over.
ALTER TABLE jobs ADD COLUMN workflow BLOB;
ALTER TABLE jobs ADD COLUMN member INTEGER;
ALTER TABLE jobs ADD COLUMN kept_at INTEGER;
CREATE INDEX jobs_by_workflow ON jobs(workflow) WHERE workflow IS NOT NULL;
-- `over_at`: from when on retention counts. `may_change`: memory has it.
CREATE TABLE workflows(
  id         BLOB NOT NULL UNIQUE,
  queue      TEXT NOT NULL,
  state      INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  over_at    INTEGER,
  may_change INTEGER NOT NULL,
  detail     BLOB NOT NULL) STRICT;
CREATE INDEX workflows_by_age ON workflows(created_at, id);
CREATE INDEX workflows_by_end ON workflows(queue, state, over_at) WHERE over_at IS NOT NULL;
CREATE INDEX workflows_live ON workflows(id) WHERE may_change = 1;
CREATE TABLE member_chunks(
  workflow BLOB NOT NULL,
  first    INTEGER NOT NULL,
  chunk    BLOB NOT NULL,
  PRIMARY KEY (workflow, first)) STRICT;
CREATE TABLE fate_pages(
  workflow BLOB NOT NULL,
  first    INTEGER NOT NULL,
  page     BLOB NOT NULL,
  PRIMARY KEY (workflow, first)) STRICT;
