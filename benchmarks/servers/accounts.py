"""The temporary accounts of one instance and the SQL that creates them."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from benchmarks.servers.binary import Flavour, ServerBinary
from benchmarks.servers.reach import Reach

TPCC_SCHEMA = "tpcc"


@dataclass(frozen=True)
class Account:
    """A user and its password, which repr() does not show: hexadecimal, safe in any quoting."""

    user: str
    password: str = field(repr=False, default_factory=lambda: secrets.token_hex(24))


def account_sql(
    binary: ServerBinary,
    admin: Account,
    driver: Account,
    reach: Reach | None = None,
    schema: str = TPCC_SCHEMA,
) -> str:
    """Statements for init_file, one per line, run before the first connection is accepted.

    The driver's account can read and write in `schema`. It is for '%': one entry, hence one entry
    in the password cache, for socket and TCP alike; the server listens on loopback only. With a
    `reach` it is for the load host's address alone. sql_log_bin keeps the accounts out of the
    binary log and its GTIDs.
    """
    client, require = (reach.client, reach.require_clause) if reach else ("%", "")
    statements = [
        "SET SESSION sql_log_bin = 0",
        *_account(binary, admin, "localhost", "", "ALL PRIVILEGES ON *.*", " WITH GRANT OPTION"),
        *_account(
            binary, driver, client, require, f"SELECT, INSERT, UPDATE, DELETE ON {schema}.*", ""
        ),
        "ALTER USER IF EXISTS 'root'@'localhost' ACCOUNT LOCK",
    ]
    return "".join(f"{statement};\n" for statement in statements)


def _account(
    binary: ServerBinary, account: Account, host: str, require: str, rights: str, option: str
) -> list[str]:
    who = f"'{account.user}'@'{host}'"
    return [
        f"DROP USER IF EXISTS {who}",
        f"CREATE USER {who} {identified_by(binary, account.password)}{require}",
        f"GRANT {rights} TO {who}{option}",
    ]


def identified_by(binary: ServerBinary, password: str) -> str:
    """Return the IDENTIFIED clause, with the server's default plugin, for letters and digits."""
    if binary.flavour is Flavour.MARIADB:
        return f"IDENTIFIED VIA mysql_native_password USING PASSWORD('{password}')"
    plugin = "mysql_native_password" if binary.version < (8, 0, 0) else "caching_sha2_password"
    return f"IDENTIFIED WITH {plugin} BY '{password}'"
