-- What the worker of a host may do in the advisor's database: docs/how-to/connections.md.
--
-- Run by the owner of the tables, and again after each `manage.py migrate`; it may be repeated. The login
-- of a host is `advisor_<name of the host>` and a member of `advisor_host`. Roles are made by who may, such as
-- the user `postgres`; an owner who may as well need not make the first one before:
--
--   CREATE ROLE advisor_host NOLOGIN;
--   CREATE ROLE "advisor_db1" LOGIN PASSWORD '...' IN ROLE advisor_host CONNECTION LIMIT 10;
--
-- A worker reads the rows of all hosts, except who their users are, and writes those of its own host.
BEGIN;

DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'advisor_host') THEN
    CREATE ROLE advisor_host NOLOGIN;
  END IF;
END $$;

-- The host whose worker this is, by the name of its login, not of a role that it has taken: after SET ROLE
-- advisor_host it would be a host named "host". What the names in it mean is decided here: in a text it would
-- be decided by the search path of the session, in which temporary tables come first.
CREATE OR REPLACE FUNCTION advisor_this_host() RETURNS bigint LANGUAGE sql STABLE
  BEGIN ATOMIC
    SELECT id FROM benchmarks_host WHERE 'advisor_' || name = session_user;
  END;

DO $$
DECLARE
  one record;
  mine text;
BEGIN
  FOR one IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() LOOP
    EXECUTE format('REVOKE ALL ON %I FROM advisor_host', one.tablename);
  END LOOP;
  FOR one IN
    SELECT * FROM (VALUES
      -- table, what a worker does there, the condition of a row that is its host's; '' where all share it
      ('django_migrations',               'SELECT', ''),
      ('benchmarks_release',              'SELECT', ''),
      ('tuning_studygroup',               'SELECT', ''),
      ('tuning_serverprofile',            'SELECT', ''),
      ('tuning_study_devices',            'SELECT', ''),
      ('benchmarks_workload',             'SELECT, INSERT', ''),
      ('benchmarks_config',               'SELECT, INSERT', ''),
      ('benchmarks_host',                 'SELECT, INSERT, UPDATE', '''advisor_'' || name = session_user'),
      ('benchmarks_listedpath',           'SELECT, INSERT, DELETE', 'host_id = (SELECT advisor_this_host())'),
      ('benchmarks_device',               'SELECT, INSERT, UPDATE', 'host_id = (SELECT advisor_this_host())'),
      ('benchmarks_server',               'SELECT, INSERT, UPDATE', 'host_id = (SELECT advisor_this_host())'),
      ('benchmarks_inspection',           'SELECT, INSERT, UPDATE, DELETE', 'host_id = (SELECT advisor_this_host())'),
      ('benchmarks_run',                  'SELECT, INSERT, UPDATE, DELETE', 'host_id = (SELECT advisor_this_host())'),
      ('benchmarks_crashtest',            'SELECT, INSERT, UPDATE', 'host_id = (SELECT advisor_this_host())'),
      -- written by both: the host that is measured and the one that drives it
      ('benchmarks_loadjob',              'SELECT, INSERT, UPDATE',
        'host_id = (SELECT advisor_this_host())
          OR EXISTS (SELECT FROM benchmarks_run r WHERE r.id = run_id AND r.host_id = (SELECT advisor_this_host()))
          OR EXISTS (SELECT FROM benchmarks_crashtest c
            WHERE c.id = crash_test_id AND c.host_id = (SELECT advisor_this_host()))'),
      ('benchmarks_probe',                'SELECT, UPDATE',
        'EXISTS (SELECT FROM benchmarks_device d WHERE d.id = device_id AND d.host_id = (SELECT advisor_this_host()))'),
      ('benchmarks_sample',               'SELECT, INSERT, DELETE',
        'EXISTS (SELECT FROM benchmarks_run r WHERE r.id = run_id AND r.host_id = (SELECT advisor_this_host()))'),
      ('tuning_study',                    'SELECT, UPDATE', 'host_id = (SELECT advisor_this_host())'),
      ('tuning_study_workloads',          'SELECT, INSERT', 'study'),
      ('tuning_candidate',                'SELECT, INSERT, UPDATE', 'study'),
      ('tuning_slot',                     'SELECT, INSERT, UPDATE, DELETE', 'study'),
      ('tuning_elimination',              'SELECT, INSERT, DELETE', 'study'),
      ('tuning_crashslot',                'SELECT, INSERT, UPDATE', 'study'),
      ('tuning_recommendation',           'SELECT, INSERT, UPDATE, DELETE', 'study'),
      ('tuning_gateverdict',              'SELECT, INSERT, UPDATE', 'study'),
      ('tuning_storeddocument',           'SELECT, INSERT, UPDATE', 'study'),
      -- what happened: added to, never changed
      ('tuning_studyevent',               'SELECT, INSERT', 'study')
    ) AS rights (name, verbs, condition)
  LOOP
    EXECUTE format('GRANT %s ON %I TO advisor_host', one.verbs, one.name);
    EXECUTE format('DROP POLICY IF EXISTS advisor_reads ON %I', one.name);
    EXECUTE format('DROP POLICY IF EXISTS advisor_writes ON %I', one.name);
    CONTINUE WHEN one.condition = '';
    mine := CASE one.condition WHEN 'study' THEN
      'EXISTS (SELECT FROM tuning_study s WHERE s.id = study_id AND s.host_id = (SELECT advisor_this_host()))'
      ELSE one.condition END;
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', one.name);
    EXECUTE format('CREATE POLICY advisor_reads ON %I FOR SELECT TO advisor_host USING (true)', one.name);
    EXECUTE format(
      'CREATE POLICY advisor_writes ON %I FOR ALL TO advisor_host USING (%s) WITH CHECK (%s)', one.name, mine, mine
    );
  END LOOP;
END $$;

COMMIT;
