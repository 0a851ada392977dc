"""What another user put in the place of a file: it is not followed, read, waited for or given."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pymysql
import pytest

from benchmarks import ownership
from benchmarks.errors import DeviceUnusable, LoadFailed
from benchmarks.inventory.inspection import inspect_directory
from benchmarks.ownership import (
    check_ours,
    delete,
    forget_cached,
    give,
    make_ours,
    open_plain,
    take_back,
)
from benchmarks.processes.users import ServerUser
from benchmarks.servers import errorlog, instance
from benchmarks.servers.paths import InstancePaths, make_run_dir, open_console
from benchmarks.storage.identify import check_device
from benchmarks.storage.layout import FOLDER

OTHER = 12345
ME = os.geteuid()
as_root = pytest.mark.skipif(ME != 0, reason="only root can give files away")

Plant = Callable[[Path, Path], None]


def pipe(place: Path, _: Path) -> None:
    os.mkfifo(place)


def folder(place: Path, _: Path) -> None:
    place.mkdir()


PLANTS: list[Plant] = [Path.symlink_to, Path.hardlink_to, pipe, folder]


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text("for root only")
    path.chmod(0o600)
    return path


class TestDelete:
    def test_links_go_and_what_they_lead_to_stays(self, tmp_path: Path, secret: Path) -> None:
        precious = tmp_path / "precious"
        precious.mkdir()
        (precious / "file").touch()
        tree = tmp_path / "tree"
        (tree / "a/b").mkdir(parents=True)
        for place in (tree, tree / "a", tree / "a/b"):
            (place / "folder").symlink_to(precious)
            for number, plant in enumerate(PLANTS):
                plant(place / f"planted{number}", secret)
        delete(tree)
        assert not tree.exists()
        assert (precious / "file").exists()
        assert secret.read_text() == "for root only"

    def test_a_link_in_its_place_is_not_followed(self, tmp_path: Path) -> None:
        (tmp_path / "precious/inner").mkdir(parents=True)
        (tmp_path / "tree").symlink_to("precious")
        delete(tmp_path / "tree")
        assert not (tmp_path / "tree").is_symlink()
        assert (tmp_path / "precious/inner").is_dir()

    def test_any_depth(self, tmp_path: Path, request: pytest.FixtureRequest) -> None:
        """Deeper than Python recurses, than files may be open and than a path may be long."""
        tree = tmp_path / "tree"
        # pytest could not delete what a failure leaves
        request.addfinalizer(lambda: subprocess.run(["rm", "-rf", tree], check=True))
        tree.mkdir()
        here = os.open(tree, os.O_RDONLY)
        for _ in range(1100):
            os.mkdir("d" * 100, dir_fd=here)
            below = os.open("d" * 100, os.O_RDONLY, dir_fd=here)
            os.close(os.open("file", os.O_CREAT, dir_fd=below))
            os.close(here)
            here = below
        os.close(here)
        delete(tree)
        assert not tree.exists()

    def test_nothing_there(self, tmp_path: Path) -> None:
        delete(tmp_path / "tree")
        delete(tmp_path / "no" / "tree")


class TestOurs:
    def test_a_folder_is_made_for_all_to_enter(self, tmp_path: Path) -> None:
        umask = os.umask(0o077)
        try:
            make_ours(tmp_path / "new")
        finally:
            os.umask(umask)
        make_ours(tmp_path / "new")
        assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o755

    def test_others_may_write_in_it(self, tmp_path: Path) -> None:
        place = tmp_path / "a b"
        place.mkdir()
        (place / FOLDER).mkdir()
        place.chmod(0o777)
        with pytest.raises(DeviceUnusable, match="could replace") as refused:
            check_device(place)
        assert f"`chmod go-w '{place}'`" in str(refused.value)
        with pytest.raises(DeviceUnusable, match="could replace"):
            make_ours(place / FOLDER)
        place.chmod(0o1777)  # as /tmp: nobody but its owner can rename our folder
        check_device(place)
        (place / FOLDER).chmod(0o757)
        with pytest.raises(DeviceUnusable, match=f"{FOLDER} can be written to by other users"):
            check_device(place)

    @as_root
    @pytest.mark.parametrize("whose", ["home", "home/device", f"home/device/{FOLDER}"])
    def test_it_belongs_to_another(self, tmp_path: Path, whose: str) -> None:
        device = tmp_path / "home/device"
        (device / FOLDER).mkdir(parents=True)
        os.chown(tmp_path / whose, OTHER, OTHER)
        with pytest.raises(DeviceUnusable, match=f"{whose} belongs to {OTHER}") as refused:
            inspect_directory(device)
        # What is above may be somebody's home: no command of ours takes it away.
        fixes = f"`chown root: {tmp_path / whose}`" in str(refused.value)
        assert fixes == (whose != "home")
        assert "`install -d -o root -m 755 " in str(refused.value)

    @as_root
    def test_anothers_link_to_a_folder_of_ours(self, tmp_path: Path) -> None:
        (tmp_path / "ours").mkdir()
        sticky = tmp_path / "tmp"
        sticky.mkdir()
        sticky.chmod(0o1777)
        planted = sticky / FOLDER
        planted.symlink_to("../ours")
        make_ours(planted)  # our own link may lead anywhere
        os.chown(planted, OTHER, OTHER, follow_symlinks=False)
        with pytest.raises(DeviceUnusable, match=f"`rm {planted}`"):
            make_ours(planted)

    def test_odd_places(self, tmp_path: Path) -> None:
        (tmp_path / "loop").symlink_to("loop")
        with pytest.raises(DeviceUnusable, match="a loop of symbolic links"):
            check_device(tmp_path / "loop")
        (tmp_path / "file").touch()
        with pytest.raises(DeviceUnusable, match="not a directory"):
            check_ours(tmp_path / "file")
        with pytest.raises(DeviceUnusable, match="No such file"):
            check_device(tmp_path / "absent")


class TestHandingOver:
    @pytest.mark.parametrize("plant", PLANTS[:3])
    def test_nothing_but_plain_files_is_taken_back(
        self, plant: Plant, tmp_path: Path, secret: Path
    ) -> None:
        data = tmp_path / "data"
        (data / "tpcc").mkdir(parents=True)
        plant(data / "tpcc" / "stock.ibd", secret)
        before = secret.stat()
        with pytest.raises(LoadFailed, match=r"data/tpcc/stock\.ibd, which is not a plain file"):
            take_back(data, ME)
        after = secret.stat()
        assert (after.st_mode, after.st_uid, after.st_mtime) == (
            before.st_mode,
            before.st_uid,
            before.st_mtime,
        )

    def test_a_file_that_is_still_written_to_is_not_taken_back(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(ownership, "_LAST_WRITES_S", 0.1)
        data = tmp_path / "data"
        data.mkdir()
        (data / "ibdata1").write_bytes(b"x")
        with (
            (data / "ibdata1").open("r+b"),
            pytest.raises(LoadFailed, match="ibdata1, which is still open for writing"),
        ):
            take_back(data, ME)
        take_back(data, ME)

    @as_root
    def test_there_and_back(
        self, tmp_path: Path, secret: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(ownership, "server_user", lambda: ServerUser("other", OTHER, OTHER))
        data = tmp_path / "data"
        (data / "tpcc").mkdir(parents=True)
        (data / "tpcc/stock.ibd").touch(0o644)
        (data / "link").symlink_to(secret)
        give(data)
        tree = [data, data / "tpcc", data / "tpcc/stock.ibd"]
        assert {path.stat().st_uid for path in tree} == {OTHER}
        assert secret.stat().st_uid == 0
        (data / "link").unlink()
        (data / "later").touch()
        give(data)  # its names are no longer ours to rely on
        assert (data / "later").stat().st_uid == 0
        take_back(data, OTHER)
        assert {path.stat().st_uid for path in tree} == {0}
        modes = [stat.S_IMODE(path.stat().st_mode) for path in tree]
        assert modes == [0o700, 0o700, 0o600]

    @as_root
    def test_a_foreign_file_is_not_taken_back(self, tmp_path: Path) -> None:
        data = tmp_path / "data"
        data.mkdir()
        (data / "theirs").touch()
        os.chown(data, OTHER, OTHER)
        os.chown(data / "theirs", OTHER + 1, OTHER)
        with pytest.raises(LoadFailed, match="theirs, which is not a plain file of its own"):
            take_back(data, OTHER)
        assert (data / "theirs").stat().st_uid == OTHER + 1


class TestReading:
    @pytest.mark.parametrize("plant", PLANTS)
    def test_an_error_log_that_is_none(self, plant: Plant, tmp_path: Path, secret: Path) -> None:
        plant(tmp_path / "error.log", secret)
        with pytest.raises(OSError, match=r"error\.log"):
            open_plain(tmp_path / "error.log", ME)
        assert errorlog.read_tail(tmp_path / "error.log", 9, owner=ME) == []

    @as_root
    def test_anothers_file(self, secret: Path) -> None:
        with pytest.raises(PermissionError):
            open_plain(secret, OTHER)

    def test_a_socket_that_is_none_of_the_servers(
        self, server_tmp: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """connect() would follow a link."""
        own, foreign = server_tmp / "s", server_tmp / "foreign"
        with contextlib.ExitStack() as stack:
            for path in (own, foreign):
                bound = stack.enter_context(socket.socket(socket.AF_UNIX))
                bound.bind(str(path))
                bound.listen()
            monkeypatch.setattr(instance, "server_user", lambda: None)
            with instance.pinned_socket(own) as name, socket.socket(socket.AF_UNIX) as client:
                client.connect(name)
            own.rename(server_tmp / "moved")
            own.symlink_to(foreign)
            with (
                pytest.raises(pymysql.err.OperationalError, match="not a socket of the server"),
                instance.pinned_socket(own),
            ):
                pass

    def test_making_files_cold_passes_over_what_is_no_file(
        self, tmp_path: Path, secret: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        dropped = []
        monkeypatch.setattr(
            os,
            "posix_fadvise",
            lambda file, *_: dropped.append(os.readlink(f"/proc/self/fd/{file}")),
        )
        (tmp_path / "data/inner").mkdir(parents=True)
        os.mkfifo(tmp_path / "data/inner/pipe")  # to open it would wait for a writer
        (tmp_path / "data/link").symlink_to("/")
        (tmp_path / "data/inner/file").write_bytes(b"x")
        forget_cached(tmp_path / "data")
        assert dropped == [str(tmp_path / "data/inner/file")]


@pytest.mark.parametrize("plant", PLANTS)
def test_a_second_start_writes_over_nothing_that_the_first_server_left(
    plant: Plant, tmp_path: Path, secret: Path
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    paths = InstancePaths(run / "data", run)
    paths.own_dir.mkdir()
    for place in (paths.console, paths.error_log, paths.tmp_dir):
        plant(place, secret)
    make_run_dir(paths)
    with open_console(paths) as console:
        console.write(b"said")
    assert list(paths.own_dir.iterdir()) == [paths.tmp_dir]
    assert not any(paths.tmp_dir.iterdir())
    assert secret.read_text() == "for root only"
