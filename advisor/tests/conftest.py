from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.hashers import reset_hashers
from django.core.cache import cache
from filelock import FileLock

from advisor.tests import postgres
from advisor.tests.harness import Home, without_services
from benchmarks.servers.binary import ServerBinary
from benchmarks.storage.layout import FOLDER
from tuning import stored_documents


@pytest.fixture(scope="module", autouse=True)
def quick_requests() -> Iterator[None]:
    """What would be half of the pages' test time: the slow hash that protects real passwords,
    and the list of all static files that each client would make.
    """
    # Not as overridden settings: what pytest-django sets once meanwhile would be lost with them.
    with pytest.MonkeyPatch.context() as patch:
        hasher = "django.contrib.auth.hashers.MD5PasswordHasher"
        patch.setattr(settings, "PASSWORD_HASHERS", [hasher])
        patch.setattr(settings, "WHITENOISE_AUTOREFRESH", True, raising=False)
        reset_hashers(setting="PASSWORD_HASHERS")
        yield
    reset_hashers(setting="PASSWORD_HASHERS")


@pytest.fixture(autouse=True)
def nothing_kept(quick_requests: None) -> None:
    cache.clear()  # where requests to the API are counted


@pytest.fixture(autouse=True)
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever Redis this machine runs hears nothing of a test's study."""
    monkeypatch.setattr("celery.Celery.send_task", lambda *_, **__: None)


@pytest.fixture(autouse=True)
def documents_are_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests write rows without raising the revision, so that no stored document may be used."""
    monkeypatch.setattr(stored_documents, "_stored", lambda _: {})


@pytest.fixture(scope="session")
def migrated_database(shared_tmp: Path) -> Path:
    """A database as `migrate` makes it in an empty home. Copy it."""
    home = shared_tmp / "migrated-home"
    made, ready = home / "private" / "db.sqlite3", shared_tmp / "migrated.sqlite3"
    with FileLock(f"{ready}.lock"):
        if not ready.exists():
            subprocess.run(
                [sys.executable, "manage.py", "migrate", "--verbosity", "0"],
                cwd=settings.BASE_DIR,
                env=without_services() | {"ADVISOR_HOME": str(home)},
                check=True,
            )
            made.rename(ready)
    return ready


@pytest.fixture(scope="session")
def migrated_postgres(shared_tmp: Path) -> Callable[[Path], None]:
    """Gives a test its own copy of a data directory with the advisor's tables; see
    `advisor.tests.postgres.make_migrated`. To migrate takes PostgreSQL many seconds.
    """
    folder = shared_tmp / "postgres"
    with FileLock(f"{folder}.lock"):
        data = folder / "data"
        if not folder.exists():
            data = postgres.make_migrated(folder)

    def copy(target: Path) -> None:
        subprocess.run(["cp", "--archive", data, target], check=True)

    return copy


@pytest.fixture
def postgres_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of an empty database of a PostgreSQL of its own, which is migrated."""
    if postgres.postgres_programs() is None:
        pytest.skip("PostgreSQL is not installed")
    with postgres.own_folder() as folder:
        request.getfixturevalue("migrated_postgres")(folder / "data")
        with postgres.server(folder / "data", folder) as url:
            yield url


@pytest.fixture(scope="session")
def shared_device(shared_folder: Path) -> Iterator[Path]:
    """A device of this process; the datasets on it are those of all processes of the test run."""
    with tempfile.TemporaryDirectory(prefix="adv-device-") as folder:
        path = Path(folder)
        path.chmod(0o755)
        (path / FOLDER).mkdir()
        (path / FOLDER / "datasets").symlink_to(shared_folder / "datasets")
        yield path


@pytest.fixture
def make_home(shared_device: Path) -> Iterator[Callable[[ServerBinary], Home]]:
    """Makes empty homes; afterwards nothing of them may run."""
    with ExitStack() as stack:

        def make(server: ServerBinary) -> Home:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="adv-home-"))
            place = Home(Path(folder), shared_device, server)
            stack.callback(place.kill_all)
            return place

        yield make


@pytest.fixture
def home(
    make_home: Callable[[ServerBinary], Home],
    mariadb_binary: ServerBinary,
    migrated_database: Path,
) -> Home:
    """A fresh home with its database, on the server that starts soonest."""
    place = make_home(mariadb_binary)
    place.database.parent.mkdir(mode=0o700)
    shutil.copy(migrated_database, place.database)
    return place
