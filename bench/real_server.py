"""The answer to "What should I change on my server?" tried out: `make bench-real-server`.

For each server: load TPC-C and drive it with a poor my.cnf as "production"; `manage.py attach`
reads it meanwhile, through a read-only account over TLS; `manage.py advise` measures that profile;
run the SQL of the answer and its way back on the running server; restart it with the lines of the
answer and without them in turn, and measure each under the same load; attach once more under load,
with the lines, and `attach --compare`. The advisor does nothing during the measured runs. Prints
the gain in the study and the gain on production, with their intervals. Deletes all that it made.
"""

from __future__ import annotations

import argparse
import os
import re
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import django

from advisor.processes.child import end_like_ctrl_c
from bench.tables import markdown
from benchmarks.datasets.cloning import clone
from benchmarks.datasets.golden import ensure_dataset
from benchmarks.datasets.loading import never
from benchmarks.datasets.source import tpcc_source
from benchmarks.drivers.protocol import Load, Phase
from benchmarks.drivers.select import find_driver
from benchmarks.drivers.sysbench import Sysbench
from benchmarks.drivers.workloads import tpcc
from benchmarks.measurement.drive import target_of
from benchmarks.ownership import delete
from benchmarks.servers.accounts import identified_by
from benchmarks.servers.binary import Flavour, ServerBinary, identify
from benchmarks.servers.instance import ServerInstance
from benchmarks.servers.reach import Reach
from benchmarks.servers.running import running_server
from tuning.statistics.ratios import ratio_of

_ROOT = Path(__file__).resolve().parents[1]
_HOME = _ROOT / "var" / "real-server"
_SERVERS = [_ROOT / "var/servers" / one for one in ("mysql/mysqld", "mariadb/mariadbd")]
_LOCAL, _PASSWORD, _CONNECTIONS, _MEMORY = "127.0.0.1", secrets.token_hex(16), 8, "1500M"
#: tpcc_start cannot be asked to use TLS, which this server wants.
_DRIVER = Sysbench.name
#: Plausible for a server that nobody looked at since its data grew.
_POOR = {"innodb_buffer_pool_size": "128M", "innodb_io_capacity": "2000", "log_bin": "OFF"}
_REDO = {Flavour.MARIADB: "innodb_log_file_size"}


def main(arguments: Sequence[str]) -> None:
    """Run the bench."""
    parser = argparse.ArgumentParser(prog="make bench-real-server", description=__doc__)
    parser.add_argument("servers", type=Path, nargs="*", default=_SERVERS, help="paths of mysqld")
    parser.add_argument("--warehouses", type=int, default=12)
    parser.add_argument("--seconds", type=int, nargs=2, default=(20, 60), help="warm-up, measured")
    parser.add_argument("--study", default="--blocks 3 --warmup 3 --measure 8 --confirm")
    asked = parser.parse_args(arguments)
    end_like_ctrl_c()
    os.environ |= {"ADVISOR_HOME": f"{_HOME}", "DJANGO_SETTINGS_MODULE": "advisor.settings"}
    django.setup()
    delete(_HOME)
    try:
        for path in asked.servers:
            print(_proof(identify(path.absolute()), asked), flush=True)
    finally:
        delete(_HOME)


def _proof(binary: ServerBinary, asked: argparse.Namespace) -> str:
    from tuning.models import Study  # Django has the bench's own home by now
    from tuning.stored_documents import document_of
    from tuning.studies.server_profiles import server_answers

    (folder := _HOME / binary.flavour).mkdir(parents=True)
    poor = _POOR | {_REDO.get(binary.flavour, "innodb_redo_log_capacity"): "32M"}
    _tell(f"{binary.version_text}: loading {asked.warehouses} warehouses")
    loaded = ensure_dataset(tpcc_source(asked.warehouses), binary, device_dir=_HOME / "device")
    clone(loaded, folder / "data")
    _tell("attaching under load, then the study")
    with _production(binary, poor) as server:
        before = _attached(server, asked)
    words = f"advise --server-profile {before} --server {binary.path} --template compare --no-race"
    words += f" --driver {_DRIVER} --connections {_CONNECTIONS} --no-test-lines"
    words += f" --output {folder}/c {asked.study}"
    _ended(_begun(*words.split(), stdout=sys.stderr))
    [(_, found)] = document_of(study := Study.objects.latest("pk")).recommendations
    [answer] = server_answers(study)
    better = poor | dict(one.cnf.split(" = ", 1) for one in answer.steps)
    with _production(binary, poor) as server:
        _execute(server, *answer.apply.splitlines(), *answer.back.splitlines())
    _tell("the running server took the SQL of the answer, and its way back")
    rates: tuple[dict[int, float], dict[int, float]] = {}, {}
    for number in range(6):
        is_after = number % 4 in (1, 2)  # ABBAAB: a drift counts for neither
        with _production(binary, better if is_after else poor) as server:
            rate = rates[is_after][number // 2] = _drive(server, asked)
        _tell(f"{'after' if is_after else 'before'}: {rate:,.0f} tpmP")
    with _production(binary, better) as server:
        after = _attached(server, asked)
    _ended(_begun("attach", "--compare", f"{before}", f"{after}", stdout=sys.stderr))
    gain = ratio_of(*rates)
    rows = [["study", found.effect.change()], ["production", gain.change() if gain else ""]]
    steps = [f"- {one.name}: {one.before} -> {one.value} ({one.how})\n" for one in answer.steps]
    return markdown(answer.verdict, [binary.version_text, "gain"], rows) + "".join(steps)


@contextmanager
def _production(binary: ServerBinary, given: dict[str, str]) -> Iterator[ServerInstance]:
    """Run the server on its data, which stays, and stop it as a service manager does."""
    data, run = (_HOME / binary.flavour / one for one in ("data", "run"))
    account = f"'reader'@'{_LOCAL}'"
    reach, identified = Reach(_LOCAL, _LOCAL), identified_by(binary, _PASSWORD)
    with running_server(binary, data_dir=data, run_dir=run, options=given, reach=reach) as server:
        made = f"CREATE USER IF NOT EXISTS {account} {identified} REQUIRE SSL"
        _execute(server, made, f"GRANT REFERENCES ON *.* TO {account}")
        yield server
        _execute(server, "SET GLOBAL innodb_fast_shutdown = 1")


def _drive(
    server: ServerInstance,
    asked: argparse.Namespace,
    on_phase: Callable[[Phase], None] = lambda _: None,
) -> float:
    """Return New-Orders per minute."""
    load = Load(tpcc(asked.warehouses), _CONNECTIONS, asked.seconds[0], asked.seconds[1], seed=1)
    target, folder = target_of(server, load.workload.schema), _HOME / "driver"
    done = find_driver(_DRIVER).run(target, load, folder, on_phase=on_phase, should_stop=never)
    return 60 * done.counts[load.workload.counted].completed / done.measured_seconds


def _attached(server: ServerInstance, asked: argparse.Namespace) -> int:
    """Return the id of a profile that is read over TLS while the load runs."""
    authority, login = _HOME / "ca.pem", _HOME / "login.cnf"
    authority.write_text(server.certificate)
    login.touch(mode=0o600)
    login.write_text(f"[client]\nuser = reader\npassword = {_PASSWORD}\n")
    words = f"attach --host {_LOCAL} --port {server.port} --defaults-file {login} --ssl-ca"
    words += f" {authority} --memory {_MEMORY} --seconds {max(asked.seconds[1] // 2, 5)}"
    begun: list[subprocess.Popen[str]] = []

    def on_phase(phase: Phase) -> None:
        if phase is Phase.WARMING:  # the command takes seconds to start
            begun.append(_begun(*words.split()))

    _drive(server, asked, on_phase)
    return int(re.findall(r"Profile ([0-9]+)", _ended(begun[0]))[0])


def _execute(server: ServerInstance, *statements: str) -> None:
    with closing(server.connect()) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def _begun(*words: str, stdout: Any = subprocess.PIPE) -> subprocess.Popen[str]:
    command = [sys.executable, "manage.py", *words]
    return subprocess.Popen(command, cwd=_ROOT, stdout=stdout, text=True)


def _tell(text: str) -> None:
    print(time.strftime("%H:%M:%S"), text, file=sys.stderr, flush=True)


def _ended(child: subprocess.Popen[str]) -> str:
    """Return what the command printed. An interrupt lets it clean up; a failure ends the bench."""
    try:
        printed, _ = child.communicate()
    finally:
        child.terminate()
        child.wait(60)
    if child.returncode:
        raise SystemExit(f"{child.args!r} ended with {child.returncode}")
    return printed


if __name__ == "__main__":
    main(sys.argv[1:])
