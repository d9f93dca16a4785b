-- CREATE SCHEMA IF NOT EXISTS checks the right to create a schema first, even if the schema exists;
-- its owner need not have that right.
DO $$ BEGIN
  IF to_regnamespace('millrace') IS NULL THEN CREATE SCHEMA millrace; END IF;
END $$;
CREATE TABLE IF NOT EXISTS millrace.migrations(
  version    bigint PRIMARY KEY,
  name       text NOT NULL,
  needed     bigint NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now(),
  applied_by text NOT NULL);
