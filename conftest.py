"""Fixtures for tests that need a real server. An absent server is an error, never a skip.

Tests run in several processes (docs/testing.md): what takes long to make is made once, in
`shared_tmp`, and never changed; all else is a process's own, the advisor's home included.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import importlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import accumulate, compress
from operator import itemgetter
from pathlib import Path
from types import ModuleType
from typing import IO, Any

# Before numpy is loaded: its threads wait for each other where tests share two processors.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# The disk of whoever runs the tests may be nearly full; those about the reserve set their own.
os.environ["ADVISOR_DISK_RESERVE"] = "0"

import hypothesis
import pytest
from coverage import Coverage
from django.conf import settings
from django.contrib.auth.management import create_permissions
from django.contrib.contenttypes.management import create_contenttypes
from django.db import connection, transaction
from django.db.models.signals import post_migrate
from django.test import TransactionTestCase
from filelock import FileLock

from advisor.access.roles import make_groups
from advisor.tests.harness import without_services
from advisor.tests.original import original
from advisor.tests.seen_lines import SEEN, watch
from benchmarks.datasets.pristine import ensure_pristine
from benchmarks.datasets.shared_folders import make_folders
from benchmarks.servers.binary import ServerBinary, identify

pytest_plugins = ["advisor.tests.cpu_report"]

_ROOT = Path(__file__).resolve().parent
_INSTALLED = _ROOT / "var" / "servers"
# More servers for the tests on `any_server`: paths of programs, separated as in PATH. None here
# by default: other versions are to be had from their makers and from other distributions.
_MORE = [path for path in os.environ.get("ADVISOR_TEST_SERVERS", "").split(os.pathsep) if path]

_SHARED = pytest.StashKey[Path]()
# Kinds of tests, and roughly the seconds that one takes: first those that mostly wait, then those
# that compute. Of both the longest begin.
_WAITING = {"browser": 5.0, "make_home": 35.0, "slow": 5.0, "server": 1.5}
_COMPUTING = {"long": 1.0, "": 0.05}
# When so much of the computing has been given out, all tests that wait have, and those that need
# the host begin: what they leave of the processors is for the rest.
_WAITED, _ALONE = 0.53, 0.58
# What pytest-django has for every test, and the marker or fixture of those that need it.
_SELDOM_NEEDED = {
    "_dj_autoclear_mailbox": "mailoutbox",
    "_django_clear_site_cache": "django.contrib.sites",
    "_django_db_marker": "django_db",
    "_django_isolate_apps": "django_isolate_apps",
    "_django_set_urlconf": "urls",
    "_django_setup_unittest": "unittest.TestCase",
    "_live_server_helper": "live_server",
    "_template_string_if_invalid_marker": "ignore_template_errors",
}
_OWN_GROUPS: set[str] = set()
_LONG_S = 1.0
_NICENESS = os.getpriority(os.PRIO_PROCESS, 0)
# The same examples in every run, however slow the host is at the moment.
hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None)
hypothesis.settings.load_profile("repeatable")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Make what the processes of this run share; they are told where it is."""
    given = getattr(config, "workerinput", None)
    path = Path(given["shared"]) if given else _make_scratch()
    config.stash[_SHARED] = path
    if not given:
        config.add_cleanup(lambda: shutil.rmtree(path, ignore_errors=True))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Called by pytest-xdist for each process that it starts."""
    node.workerinput["shared"] = str(node.config.stash[_SHARED])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config, specs: list[Any]) -> None:
    """Called by pytest-xdist before it starts its processes."""
    path, is_covered = config.stash[_SHARED] / "original", Coverage.current() is not None
    stack = contextlib.ExitStack()
    config.add_cleanup(stack.close)
    command = stack.enter_context(
        original(str(path), str(_ROOT), config.args, is_covered=is_covered)
    )
    for spec in specs:
        spec.python = command


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """What is imported stays: looking for garbage meanwhile takes a third of the time.

    What runs when a module is imported is traced. The lines of functions are looked at, too, but
    not by the tracer where that is slow: so all modules are imported here, also what waits for
    its first request or command. In the copies of a process (`advisor.tests.original`) all this
    is done already.
    """
    runs_tests = not session.config.pluginmanager.hasplugin("dsession")
    is_covered = Coverage.current() is not None  # else the tracer is a debugger's
    is_watched = runs_tests and is_covered and sys.gettrace() is not None and not SEEN
    gc.disable()
    with _traced(not SEEN):
        yield
        modules = _import_all() if is_watched else []
    if is_watched:
        with _traced(False):
            SEEN.update(watch(modules))
    gc.enable()
    gc.freeze()  # spares a tenth of the time of all tests; to look for garbage first takes 0.5 s


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtestloop(session: pytest.Session) -> Iterator[None]:
    """Ends before pytest-cov counts what was seen."""
    with _traced(Coverage.current() is None):
        result = yield
    if SEEN and (current := Coverage.current()):
        found = {file: [n for n, byte in enumerate(SEEN[file]) if byte] for file in SEEN}
        current.get_data().add_lines(found)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Iterator[None]:
    yield
    for item in items:
        _leave_out_idle_fixtures(item)
    items[:] = _in_turn(items)  # after pytest-django, which has an order of its own
    if hasattr(config, "workerinput"):
        path = config.stash[_SHARED] / "groups.json"
        own = path.with_suffix(f".{os.getpid()}")
        own.write_text(json.dumps({item.nodeid: _group(item) for item in items}))
        own.rename(path)  # all processes write the same


def _leave_out_idle_fixtures(item: pytest.Item) -> None:
    """To ask eight fixtures whether they have something to do was half of a short test's time."""
    if type(item) is pytest.Function:  # what unittest knows is of another class
        asked = {*item.fixturenames, *(marker.name for marker in item.iter_markers())}
        idle = {name for name, need in _SELDOM_NEEDED.items() if need not in asked}
        item.fixturenames = [name for name in item.fixturenames if name not in idle]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Gives each process one group after the other.

    pytest-xdist has groups of its own, but from pytest 9.2 on it loses them without a word.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return groups()[nodeid]

    @cache
    def groups() -> dict[str, str]:
        found: dict[str, str] = json.loads((config.stash[_SHARED] / "groups.json").read_text())
        return found

    return Groups(config, log)


def pytest_sessionstart(session: pytest.Session) -> None:
    """In a process of pytest-xdist: send only what the one that shows the results makes use of."""
    if hasattr(session.config, "workerinput") and session.config.option.verbose <= 0:
        for plugin in session.config.pluginmanager.get_plugins():
            if type(plugin).__name__ == "WorkerInteractor":
                plugin.sendevent = partial(_send_if_of_use, plugin.sendevent)


def _send_if_of_use(send: Callable[..., None], name: str, **values: Any) -> None:
    """Half of its messages say that a test begins, or that its fixtures were soon made or ended:
    to write and read them took half a millisecond of each test.
    """
    if name == "testreport":
        report = values["data"]
        is_idle = report["when"] != "call" and report["outcome"] == "passed"
        is_idle = is_idle and report["duration"] < _LONG_S and not report["sections"]
    else:
        is_idle = name == "logstart"
    if not is_idle:
        send(name, **values)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Fail if another process has had a test of this one's group."""
    group = _group(item)
    if group in _OWN_GROUPS:
        return
    process = getattr(item.config, "workerinput", {}).get("workerid", "")
    owner = item.config.stash[_SHARED] / f"group-{group.replace('/', '_')[:200]}"
    with contextlib.suppress(FileExistsError), owner.open("x") as file:
        file.write(process)
    assert owner.read_text() in (process, ""), f"two processes have tests of {group}"
    _OWN_GROUPS.add(group)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    with _on_the_host(item):
        return (yield)


@contextlib.contextmanager
def _on_the_host(item: pytest.Item) -> Iterator[None]:
    """A test that needs the host alone waits until those of the other processes have ended, and
    they wait for it.

    One that computes gives way to those that measure time. Beside one that needs the host it has
    only what that leaves of the processors: to the kernel the host is idle.
    """
    kind, folder = _kind(item), item.config.stash[_SHARED]
    with (folder / "wanted.lock").open("w") as wanted, (folder / "host.lock").open("w") as host:
        if kind == "alone":
            fcntl.flock(wanted, fcntl.LOCK_EX)
        is_beside = kind in _COMPUTING and os.geteuid() == 0 and _is_locked(wanted)
        if not is_beside:
            fcntl.flock(host, fcntl.LOCK_EX if kind == "alone" else fcntl.LOCK_SH)
        if kind == "alone":
            os.sync()  # else the disk would still be busy with what others wrote
        if os.geteuid() == 0:  # others could not take it back
            policy = os.SCHED_IDLE if is_beside else os.SCHED_OTHER
            os.sched_setscheduler(0, policy, os.sched_param(0))
            os.setpriority(os.PRIO_PROCESS, 0, _NICENESS + 3 * (kind in _COMPUTING))
        yield


def _is_locked(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    fcntl.flock(file, fcntl.LOCK_UN)
    return False


def _import_all() -> list[ModuleType]:
    modules = []
    for package in ("advisor", "benchmarks", "tuning"):
        for path in sorted((_ROOT / package).rglob("*.py")):
            parts = path.relative_to(_ROOT).with_suffix("").parts
            # wsgi.py makes the process that of the web server.
            if not {"tests", "migrations", "wsgi"} & {*parts}:
                name = ".".join(parts).removesuffix(".__init__")
                modules.append(importlib.import_module(name))
    return modules


@contextlib.contextmanager
def _traced(wanted: bool) -> Iterator[None]:
    """Without coverage's trace function for the length of the block, unless it is wanted.

    In a process of pytest-xdist pytest-cov starts two tracers; its own marker stops only one.
    """
    here, in_threads = sys.gettrace(), threading.gettrace()
    if not wanted:
        sys.settrace(None)
        threading.settrace(None)
    try:
        yield
    finally:
        if not wanted:
            sys.settrace(here)
            threading.settrace(in_threads)


@cache
def _kind(item: pytest.Item) -> str:
    if item.get_closest_marker("alone"):
        return "alone"
    if "make_home" in getattr(item, "fixturenames", ()):
        return "make_home"
    return next((kind for kind in (*_WAITING, *_COMPUTING) if item.get_closest_marker(kind)), "")


def _group(item: pytest.Item) -> str:
    """A module's tests on one server stay in one process, except those that run the advisor in a
    home of their own. Those that share a browser do, too.
    """
    if _kind(item) in ("alone", "browser"):
        return _kind(item)
    if _kind(item) == "make_home":
        return item.name
    parameters = getattr(item, "callspec", None)
    return f"{item.path.stem}{parameters.params.get('any_server', '') if parameters else ''}"


def _in_turn(items: list[pytest.Item]) -> list[pytest.Item]:
    """Groups that wait beside groups that compute, so that no processor is idle; then those that
    need the host beside what else computes, so that all processes end at the same time.
    """
    seconds = _WAITING | _COMPUTING | {"alone": 0.0}
    groups: dict[str, list[pytest.Item]] = {}
    for item in sorted(items, key=lambda item: [*seconds].index(_kind(item))):
        groups.setdefault(_group(item), []).append(item)
    turns = dict.fromkeys(groups, _ALONE)
    for kinds, share in ((_WAITING, _WAITED), (_COMPUTING, 1.0)):
        there = {name: group for name, group in groups.items() if _kind(group[0]) in kinds}
        lengths = {n: sum(seconds[_kind(item)] for item in group) for n, group in there.items()}
        if kinds is _COMPUTING:
            lengths = dict(sorted(lengths.items(), key=itemgetter(1), reverse=True))
        begins = accumulate(lengths.values(), initial=0.0)
        turns |= {
            name: share * begin / sum(lengths.values())
            for name, begin in zip(lengths, begins, strict=False)
        }
    return [item for name in sorted(groups, key=turns.__getitem__) for item in groups[name]]


@pytest.fixture(scope="session")
def migrated_database(shared_tmp: Path) -> Path:
    """A database as `migrate` makes it in an empty home, which takes seconds; to be copied."""
    home = shared_tmp / "migrated-home"
    made, ready = home / "private" / "db.sqlite3", shared_tmp / "migrated.sqlite3"
    with FileLock(f"{ready}.lock"):
        if not ready.exists():
            subprocess.run(
                [sys.executable, "manage.py", "migrate", "--verbosity", "0"],
                cwd=_ROOT,
                env=without_services() | {"ADVISOR_HOME": str(home)},
                check=True,
            )
            made.rename(ready)
    return ready


@pytest.fixture(scope="session")
def django_db_use_migrations(pytestconfig: pytest.Config) -> bool:
    """On SQLite no process migrates by itself: `django_db_setup` copies what one has migrated."""
    return connection.vendor != "sqlite" and not pytestconfig.getoption("nomigrations")


@pytest.fixture(scope="session")
def django_db_setup(
    django_db_setup: None, django_db_blocker: Any, request: pytest.FixtureRequest
) -> Iterator[None]:
    """The tables are those of the migrations, unless --no-migrations is given.

    Nobody here is given single permissions, which Django would make anew, with the content types,
    after every test of transactions: 40 ms each.
    """
    if connection.vendor == "sqlite" and not request.config.getoption("nomigrations"):
        migrated = sqlite3.connect(request.getfixturevalue("migrated_database"))
        with django_db_blocker.unblock(), contextlib.closing(migrated):
            connection.ensure_connection()
            migrated.backup(connection.connection)
    uid = "django.contrib.auth.management.create_permissions"
    assert post_migrate.disconnect(dispatch_uid=uid)
    assert post_migrate.disconnect(create_contenttypes)
    with pytest.MonkeyPatch.context() as patch:
        if connection.vendor == "sqlite":
            patch.setattr(TransactionTestCase, "_fixture_teardown", _flush_quickly)
        yield
    post_migrate.connect(create_permissions, dispatch_uid=uid)
    post_migrate.connect(create_contenttypes)


def _flush_quickly(case: TransactionTestCase) -> None:
    """As Django's `flush` does after a test of transactions, in a fifth of the time: it looks up
    all tables and empties them one by one, though the test has used some of them.
    """
    tables = _all_tables()
    with transaction.atomic(), connection.cursor() as cursor:
        used = ", ".join(f'EXISTS (SELECT 1 FROM "{table}")' for table in tables)  # noqa: S608
        cursor.execute(f"SELECT {used}")
        for table in compress(tables, cursor.fetchone()):
            cursor.execute(f'DELETE FROM "{table}"')  # noqa: S608
    make_groups()


@cache
def _all_tables() -> list[str]:
    return connection.introspection.django_table_names(only_existing=True, include_views=False)


def _server(path: Path, variable: str) -> ServerBinary:
    if not path.exists():
        raise RuntimeError(f"no server at {path}: run `make setup`, or name one in {variable}")
    return identify(path)


def _installed(variable: str, name: str) -> ServerBinary:
    return _server(Path(os.environ.get(variable) or (_INSTALLED / name).resolve()), variable)


def _make_scratch() -> Path:
    """A directory that mysqld's user can enter, which pytest's own tmp_path (0700) is not."""
    path = Path(tempfile.mkdtemp(prefix="advt-"))
    path.chmod(0o755)
    return path


def _scratch() -> Iterator[Path]:
    path = _make_scratch()
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="session")
def shared_tmp(pytestconfig: pytest.Config) -> Path:
    """A directory that all processes of this run share. What lies in it is made once under a
    lock, and read or copied from then on.
    """
    return pytestconfig.stash[_SHARED]


@pytest.fixture(scope="session", autouse=True)
def own_home(server_session_tmp: Path) -> Iterator[None]:
    """Locks, registry and logs of this process of the test run, not those of the checkout."""
    home = server_session_tmp / "home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "HOME", home)
        patch.setattr(settings, "DEFAULT_DEVICE", home / "device")
        for name in ("RUN", "LOG"):
            patch.setattr(settings, f"{name}_DIR", home / name.lower())
            (home / name.lower()).mkdir(parents=True)
        patch.setattr(settings, "INSTANCE_REGISTRY", home / "run" / "instances")
        patch.setattr(settings, "MEASURING_LOCK", home / "run" / "measuring.lock")
        yield


@pytest.fixture
def memory_tmp() -> Iterator[Path]:
    """A directory in memory, where there is a place for that: to sync a file takes no time there,
    and made-up studies do so for each of their runs.
    """
    memory = Path("/dev/shm")  # noqa: S108
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as path:
        yield Path(path)


@pytest.fixture(scope="session")
def mysql_binary() -> ServerBinary:
    """The MySQL that set-up installed, or ADVISOR_TEST_MYSQLD."""
    return _installed("ADVISOR_TEST_MYSQLD", "mysql/mysqld")


@pytest.fixture(scope="session")
def mariadb_binary() -> ServerBinary:
    """The MariaDB that set-up installed, or ADVISOR_TEST_MARIADBD."""
    return _installed("ADVISOR_TEST_MARIADBD", "mariadb/mariadbd")


@pytest.fixture(
    scope="session",
    params=["mysql", "mariadb", *_MORE],
    ids=lambda given: Path(given).parent.name or given,
)
def any_server(request: pytest.FixtureRequest) -> ServerBinary:
    """Both servers and those of ADVISOR_TEST_SERVERS, one after the other."""
    if request.param in _MORE:
        return _server(Path(request.param), "ADVISOR_TEST_SERVERS")
    binary: ServerBinary = request.getfixturevalue(f"{request.param}_binary")
    return binary


@pytest.fixture(scope="session")
def server_session_tmp() -> Iterator[Path]:
    """Like server_tmp, for what is made once per test session."""
    yield from _scratch()


@pytest.fixture
def server_tmp() -> Iterator[Path]:
    """A directory of this test that the server's user can reach; removed afterwards."""
    yield from _scratch()


@pytest.fixture
def registry(server_tmp: Path) -> Path:
    """An empty registry of running servers."""
    path = server_tmp / "registry"
    path.mkdir()
    return path


@pytest.fixture(scope="session")
def shared_folder(shared_tmp: Path) -> Path:
    """Our folder of a device: in `datasets` lie the empty data directories and golden copies of
    all tests of this run. A device that is to have them gets a link to that.
    """
    return make_folders(shared_tmp / "device").parent


@pytest.fixture(scope="session")
def pristine_data_dir(shared_tmp: Path, shared_folder: Path) -> Callable[[ServerBinary], Path]:
    """Makes (once per server) an empty data directory; never start a server on it, copy it."""

    def make(binary: ServerBinary) -> Path:
        return ensure_pristine(binary, shared_folder, shared_tmp / "registry")

    return make


@pytest.fixture
def fresh_data_dir(
    server_tmp: Path, pristine_data_dir: Callable[[ServerBinary], Path]
) -> Callable[[ServerBinary], Path]:
    """Gives this test its own copy of an empty data directory, in milliseconds."""

    def make(binary: ServerBinary, name: str = "data") -> Path:
        target = server_tmp / name
        shutil.copytree(pristine_data_dir(binary), target)
        return target

    return make
