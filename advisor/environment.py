"""The environment variables that make installations differ.

`.venv/bin/python -m advisor.environment` writes the table of docs/reference/settings.md.
"""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from typing import Any

from advisor import env
from advisor.env import Setting
from advisor.home import machine_wide_file
from benchmarks.storage.reserve import reserve_bytes

BASE_DIR = Path(__file__).resolve().parent.parent
PAGE = BASE_DIR / "docs" / "reference" / "settings.md"
BEGIN, END = "<!-- settings: begin -->\n", "<!-- settings: end -->\n"

SETTINGS = (
    Setting(
        "ADVISOR_HOME",
        f"{BASE_DIR / 'var'}",
        env.home,
        "database, sockets, logs, installed servers",
        shown="`var/` of the checkout",
    ),
    Setting("ADVISOR_BIND", "127.0.0.1", env.bind_address, "address of the dashboard"),
    Setting("ADVISOR_PORT", "8000", env.port, "port of the dashboard"),
    Setting(
        "ADVISOR_FIRST_STUDY",
        "true",
        env.switch,
        "whether `make run` and `serve` begin with a study where there is none yet; "
        "`serve --no-first-study` says the same",
    ),
    Setting(
        "ADVISOR_DEVICE",
        "",
        env.path,
        "directory on the device that is measured by default",
        shown="`device/` of the home",
    ),
    Setting(
        "ADVISOR_SERVERS",
        "",
        env.paths,
        "server programs that may be started, in addition to the programs that the host finds "
        "itself; absolute paths, separated by `:`",
    ),
    Setting(
        "ADVISOR_DEVICES",
        "",
        env.paths,
        "directories that may be measured, in addition to the default one; absolute paths, "
        "separated by `:`",
    ),
    Setting(
        "ADVISOR_HOST_NAME",
        socket.gethostname(),
        env.host_name,
        "name of this host and of its queue",
        shown="the machine's host name",
    ),
    Setting(
        "ADVISOR_MEASURING_LOCK",
        f"{machine_wide_file()}",
        env.lock_file,
        "file that is locked while something is measured; two workers with different "
        "files measure at once and disturb each other",
        shown="one for the whole machine, containers included",
    ),
    Setting(
        "ADVISOR_HOST_GONE_HOURS",
        "24",
        env.number,
        "studies of a host whose worker has been silent for so long end with that "
        "reason; `0`: they wait",
    ),
    Setting(
        "DATABASE_URL",
        "",
        env.database,
        "`sqlite:///...` or `postgres://...`",
        shown="SQLite in the home",
        is_secret=True,
    ),
    Setting(
        "REDIS_URL",
        "",
        env.broker,
        "`redis://...`, `rediss://...` (TLS; the server's certificate and name are "
        "verified), `redis+socket://...`",
        shown="a private Redis, started when needed",
        is_secret=True,
    ),
    Setting("TPCC_MYSQL_HOME", "", str, "where `tpcc_start` is, beside PATH"),
    Setting(
        "ADVISOR_SECRET_KEY",
        "",
        str,
        "Django's secret key",
        shown="made on first start, kept in the home",
    ),
    Setting(
        "ADVISOR_ALLOWED_HOSTS",
        "127.0.0.1,localhost,[::1]",
        env.words,
        "host names the dashboard answers to",
    ),
    Setting(
        "ADVISOR_TRUSTED_ORIGINS",
        "",
        env.origins,
        "other origins, with scheme, whose forms are taken",
    ),
    Setting(
        "ADVISOR_HTTPS",
        "false",
        env.switch,
        "only HTTPS, through a proxy: cookies, redirection, HSTS",
    ),
    Setting(
        "ADVISOR_PROXY",
        "",
        env.networks,
        "addresses and networks of proxies that are believed, such as "
        "`10.0.0.5,172.16.0.0/12`; see below",
    ),
    Setting(
        "ADVISOR_NOTIFY_URL",
        "",
        env.notify_urls,
        "URLs that are told when a study or a gate has ended, separated by commas; see below",
        is_secret=True,
    ),
    Setting("ADVISOR_NOTIFY_KEY", "", str, "the key that signs these messages"),
    Setting("ADVISOR_TIME_ZONE", "UTC", env.time_zone, "time zone of the pages"),
    Setting("ADVISOR_LOG_LEVEL", "INFO", env.log_level, "Python's log levels"),
    Setting(
        "ADVISOR_DEBUG",
        "false",
        env.switch,
        "Django's debug pages; never on a server others reach",
    ),
    Setting(
        "ADVISOR_SERVER_USER",
        "oltp-advisor",
        str,
        "when we run as root: the user that servers, drivers and fio run as; see "
        "[security](../explanation/security.md)",
    ),
    Setting(
        "ADVISOR_CGROUP",
        "",
        str,
        "control group below which emulated devices get theirs; "
        "see [emulation](../how-to/emulation.md)",
        shown="the worker's own, or one above it",
    ),
    Setting(
        "ADVISOR_STEAL_LIMIT_PCT",
        "5",
        env.number,
        "maximum steal time while a run is measured beyond what is usual on the host, "
        "in % of CPU time; see below and "
        "[why](../explanation/disturbances.md#steal-time-that-is-usual)",
    ),
    Setting(
        "ADVISOR_FOREIGN_CPU_LIMIT_PCT",
        "10",
        env.number,
        "maximum CPU time of other programs, in % of all CPUs",
    ),
    Setting(
        "ADVISOR_FOREIGN_IO_LIMIT_PCT",
        "10",
        env.number,
        "maximum time the disk may be busy for other programs, in %",
    ),
    Setting(
        "ADVISOR_STALL_LIMIT_PCT",
        "2",
        env.number,
        "maximum stall time of the host, in %; less than a second never counts",
    ),
    Setting("ADVISOR_SWAP_LIMIT_MB_S", "1", env.number, "maximum swap traffic, in MB per second"),
    Setting(
        "ADVISOR_LOAD_ADDRESS",
        "",
        env.address,
        "address of this host on which a [load host](../how-to/load-host.md) reaches a "
        "measured server",
    ),
    Setting(
        "ADVISOR_LOAD_PORT",
        "0",
        env.port_or_any,
        "the port of such a server, for a firewall",
        shown="any free one",
    ),
    Setting("ADVISOR_LOAD_TLS", "true", env.switch, "whether load hosts' drivers must use TLS"),
    Setting(
        "ADVISOR_LOAD_CLIENT_ADDRESS",
        "",
        env.address,
        "on a load host: the address that measured hosts see it come from",
        shown="looked up",
    ),
    Setting(
        "ADVISOR_LOAD_PROCESSES",
        "1",
        env.whole_number,
        "on a load host: how many processes of the driver share the connections",
    ),
    Setting(
        "ADVISOR_LOAD_CPU_LIMIT_PCT",
        "90",
        env.number,
        "maximum CPU time that the load host may need, in %; `0` switches the check off",
    ),
    Setting(
        "ADVISOR_DATASET_DAYS",
        "90",
        env.whole_number,
        "days without use after which a golden dataset is deleted, `0` for never; see "
        "[disks](../explanation/disks.md)",
    ),
    Setting(
        "ADVISOR_SERIES_DAYS",
        "365",
        env.whole_number,
        "days after its end when the seconds of a run are deleted, `0` for never; its "
        "figures stay",
    ),
    Setting(
        "ADVISOR_DISK_RESERVE",
        "",
        lambda text: reserve_bytes(0, text),
        "free space on each file system that stays free: a size such as `20G` (of 2^30 "
        "bytes), a share such as `8%`, `0` for none; see [disks](../explanation/disks.md)",
        shown="the larger of 2 GiB and 5 %",
    ),
    Setting(
        "ADVISOR_DISTURBED_RETRIES",
        "2",
        env.whole_number,
        "how often a disturbed run is measured again in its block",
    ),
)
_BY_NAME = {setting.name: setting for setting in SETTINGS}


def read(name: str) -> Any:
    """The value of a variable of the table. Raises ImproperlyConfigured."""
    return _BY_NAME[name].read()


def table() -> str:
    """The table of docs/reference/settings.md."""
    lines = ["| Variable | Default | Meaning |", "| --- | --- | --- |"]
    for setting in SETTINGS:
        default = setting.shown or (f"`{setting.default}`" if setting.default else "none")
        lines.append(f"| `{setting.name}` | {default} | {setting.help} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the table of settings into its document."""
    before, rest = PAGE.read_text().split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}{table()}{END}{after}")
    sys.stdout.write(f"{PAGE.name} is written.\n")


if __name__ == "__main__":
    main()
