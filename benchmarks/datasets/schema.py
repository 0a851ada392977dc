"""The TPC-C schema as tpcc-mysql's programs expect it, fact by fact as at its commit 1ec1c5e.

Tables, column order, types, keys, index names and foreign keys are the same; tpcc_start and our
sysbench workload both run on it. Storage engine aside, everything not said in `sql/` (character
set, row format) is the server's default, as it is with tpcc-mysql.
"""

from __future__ import annotations

from pathlib import Path


def _statements(file: str) -> tuple[str, ...]:
    text = (Path(__file__).parent / "sql" / file).read_text(encoding="utf-8")
    return tuple(part.strip() for part in text.split(";\n") if part.strip())


#: Makes each table with its primary key only.
TABLES = _statements("tables.sql")
#: Builds all secondary indexes of a table in one pass over its rows.
INDEXES = _statements("indexes.sql")
#: Adds the foreign keys of a table, for which indexes exist by then.
FOREIGN_KEYS = _statements("foreign_keys.sql")
