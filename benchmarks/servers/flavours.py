"""How MySQL, Percona Server and MariaDB differ in the options that they need, as one table.

Only what *we* set is here; the candidate's knobs are the tuning floor's business.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.servers.binary import Flavour, ServerBinary

Version = tuple[int, int, int]

_MYSQL_LIKE = frozenset({Flavour.MYSQL, Flavour.PERCONA})
_EVERY = frozenset(Flavour)
_FIRST: Version = (0, 0, 0)
_NEVER: Version = (999, 0, 0)


@dataclass(frozen=True)
class Rule:
    """One option line for the servers it holds for: `since` <= version < `before`.

    `value` None is a bare option.
    """

    option: str
    value: str | None
    flavours: frozenset[Flavour]
    since: Version
    before: Version
    why: str

    def holds(self, binary: ServerBinary) -> bool:
        """Whether this line is for that server."""
        return binary.flavour in self.flavours and self.since <= binary.version < self.before


# fmt: off
RULES = (
    Rule("bind_address", "127.0.0.1", _EVERY, _FIRST, _NEVER, "loopback only"),
    Rule("skip_name_resolve", None, _EVERY, _FIRST, _NEVER, "no DNS; accounts go by address"),
    Rule("server_id", "1", _EVERY, _FIRST, _NEVER, "5.7 refuses log_bin without one"),
    Rule("secure_file_priv", "NULL", _MYSQL_LIKE, _FIRST, _NEVER, "no files through SQL"),
    Rule("tls_version", "", _MYSQL_LIKE, (8, 0, 16), _NEVER, "no TLS; skip_ssl went in 8.4"),
    Rule("skip_ssl", None, _MYSQL_LIKE, _FIRST, (8, 0, 16), "no TLS"),
    Rule("skip_ssl", None, frozenset({Flavour.MARIADB}), _FIRST, _NEVER, "on since 11.4"),
    Rule("loose_mysqlx", "OFF", _MYSQL_LIKE, (8, 0, 11), _NEVER, "no X protocol port"),
    Rule("persisted_globals_load", "OFF", _MYSQL_LIKE, (8, 0, 0), _NEVER,
         "mysqld-auto.cnf must not add to this file"),
    Rule("loose_percona_telemetry_disable", "ON", frozenset({Flavour.PERCONA}), (8, 0, 0), _NEVER,
         "nothing is written outside our directories"),
)
# fmt: on


def instance_rules(binary: ServerBinary) -> list[tuple[str, str | None]]:
    """The options of ours that depend on the server but on no path."""
    return [(rule.option, rule.value) for rule in RULES if rule.holds(binary)]


def authentication_plugin(binary: ServerBinary) -> str:
    """The plugin our accounts use: the server's own default, written out."""
    if binary.flavour is Flavour.MARIADB or binary.version < (8, 0, 0):
        return "mysql_native_password"
    return "caching_sha2_password"


def identified_by(binary: ServerBinary, password: str) -> str:
    """The IDENTIFIED clause for a password of letters and digits."""
    plugin = authentication_plugin(binary)
    if binary.flavour is Flavour.MARIADB:
        return f"IDENTIFIED VIA {plugin} USING PASSWORD('{password}')"
    return f"IDENTIFIED WITH {plugin} BY '{password}'"
