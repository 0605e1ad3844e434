#!/bin/sh
# Run once, when PostgreSQL makes its data: the role by which Grafana reads the store, whose tables come later.
# It may read what the board of kept history asks, and no other table: each is granted as it is made.
set -e
psql --set=ON_ERROR_STOP=1 --set=password="$MONITOR_READER_PASSWORD" \
  --quiet --no-psqlrc --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" <<'SQL'
CREATE ROLE monitor_boards LOGIN PASSWORD :'password' CONNECTION LIMIT 8;
ALTER ROLE monitor_boards SET default_transaction_read_only = on;
ALTER ROLE monitor_boards SET statement_timeout = '30s';
CREATE FUNCTION grant_to_boards() RETURNS event_trigger LANGUAGE plpgsql AS $$
DECLARE made record;
BEGIN
  FOR made IN SELECT object_identity AS name FROM pg_event_trigger_ddl_commands()
    WHERE object_type IN ('table', 'view') AND object_identity IN (
      'public.current', 'public.snapshots', 'public.snapshots_latest',
      'public.models', 'public.alerts', 'public.events')
  LOOP EXECUTE format('GRANT SELECT ON %s TO monitor_boards', made.name); END LOOP;
END $$;
CREATE EVENT TRIGGER grant_to_boards ON ddl_command_end
  WHEN TAG IN ('CREATE TABLE', 'CREATE TABLE AS', 'CREATE VIEW', 'ALTER TABLE') EXECUTE FUNCTION grant_to_boards();
SQL
