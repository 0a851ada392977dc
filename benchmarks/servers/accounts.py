"""The temporary accounts of one instance and the SQL that creates them."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from benchmarks.servers.binary import ServerBinary
from benchmarks.servers.flavours import identified_by
from benchmarks.servers.reach import Reach

ADMIN_USER = "advisor_admin"
DRIVER_USER = "tpcc"
TPCC_SCHEMA = "tpcc"


@dataclass(frozen=True)
class Account:
    """A user and its password, which repr() does not show."""

    user: str
    password: str = field(repr=False)


def new_account(user: str) -> Account:
    """An account with a fresh random password of hexadecimal digits (safe in any quoting)."""
    return Account(user, secrets.token_hex(24))


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
    statements = ["SET SESSION sql_log_bin = 0"]
    work = f"SELECT, INSERT, UPDATE, DELETE ON {schema}.* TO {{who}}"
    client, require = (reach.client, reach.require_clause) if reach else ("%", "")
    for account, host, more, grant in (
        (admin, "localhost", "", "ALL PRIVILEGES ON *.* TO {who} WITH GRANT OPTION"),
        (driver, client, require, work),
    ):
        who = f"'{account.user}'@'{host}'"
        statements += [
            f"DROP USER IF EXISTS {who}",
            f"CREATE USER {who} {identified_by(binary, account.password)}{more}",
            f"GRANT {grant.format(who=who)}",
        ]
    statements.append("ALTER USER IF EXISTS 'root'@'localhost' ACCOUNT LOCK")
    return "".join(f"{statement};\n" for statement in statements)
