#!/bin/sh
# Run once, when PostgreSQL makes its data: the role by which Grafana reads the store, whose tables come later.
set -e
psql --set=ON_ERROR_STOP=1 --set=password="$MONITOR_READER_PASSWORD" --set=owner="$POSTGRES_USER" \
  --quiet --no-psqlrc --username="$POSTGRES_USER" --dbname="$POSTGRES_DB" <<'SQL'
CREATE ROLE monitor_boards LOGIN PASSWORD :'password' CONNECTION LIMIT 8;
ALTER ROLE monitor_boards SET default_transaction_read_only = on;
ALTER ROLE monitor_boards SET statement_timeout = '30s';
ALTER DEFAULT PRIVILEGES FOR ROLE :"owner" IN SCHEMA public GRANT SELECT ON TABLES TO monitor_boards;
SQL
