-- Reads a server's variables, its counters twice with a minute between, and its sizes.
-- It changes nothing. Any account can run it; sizes need a privilege on the tables.
-- Put the minute where the server is busy. A longer wait gives steadier figures.
SELECT 'profile_begin' AS part, VERSION(), @@hostname, @@port, UNIX_TIMESTAMP();
SELECT 'profile_variables' AS part;
SHOW GLOBAL VARIABLES WHERE Variable_name NOT REGEXP 'passw|auth|secret|_key|init_|proxy';
SELECT 'profile_status' AS part;
SHOW GLOBAL STATUS;
SELECT SLEEP(60);
SELECT 'profile_status' AS part;
SHOW GLOBAL STATUS;
SELECT 'profile_size' AS part, table_schema, engine, COUNT(*), SUM(data_length), SUM(index_length)
  FROM information_schema.tables
  WHERE table_type = 'BASE TABLE'
    AND table_schema NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')
  GROUP BY table_schema, engine;
SELECT 'profile_end' AS part, VERSION(), @@hostname, @@port, UNIX_TIMESTAMP();
-- Only this one needs SELECT on performance_schema. Without it MySQL's binary log is unknown.
SELECT 'profile_file' AS part, event_name, sum_number_of_bytes_write
  FROM performance_schema.file_summary_by_event_name
  WHERE event_name = 'wait/io/file/sql/binlog';
