"""Namespaces of this machine that stand for machines of their own.

Each has its own network, processes, mounts, IPC, host name, machine id and boot id, and reaches
the others over a bridge. They share the kernel, its clock, the processors and, unless something is
mounted, the files.
"""

from __future__ import annotations

import ctypes
import http.client
import ipaddress
import os
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import psutil

NETWORK = "10.77.0.0/24"
_CLONE_NEWNET = 0x40000000
_SPACES = ("--net", "--pid", "--mount", "--uts", "--ipc")
_PROGRAMS = ("ip", "unshare", "nsenter", "setpriv", "mount")

# The first process of a machine: orphans become its children, and it has to collect them.
_INIT = """
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
print("ready", flush=True)
while signal.sigwait([signal.SIGCHLD]):
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
"""


@cache
def why_not() -> str:
    """Why there can be no such machines here; empty if there can."""
    if os.geteuid() != 0:
        return "only root may make network and PID namespaces"
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    if missing:
        return f"not installed: {', '.join(missing)}"
    links = "ip link add br0 type bridge && ip link add name one type veth peer name two"
    unshare = ["unshare", *_SPACES, "--fork", "--mount-proc"]
    tried = subprocess.run([*unshare, "sh", "-c", links], capture_output=True, text=True)
    return f"no namespaces: {tried.stderr.strip()}" if tried.returncode else ""


@dataclass
class Machine:
    """One machine. What runs in it ends with its first process."""

    name: str
    address: str
    init: int
    folder: Path
    _switch: int
    _logs: dict[str, Path] = field(default_factory=dict)

    def words(self, *command: str, cwd: Path = Path("/")) -> list[str]:
        """The command line that runs `command` in this machine."""
        enter = ["nsenter", "--target", str(self.init), *_SPACES, "--"]
        # A directory that is entered before would be one of the other mounts.
        return [*enter, "env", f"--chdir={cwd}", *command]

    def start(
        self,
        *command: str,
        log: str,
        env: Mapping[str, str] | None = None,
        cwd: Path = Path("/"),
    ) -> None:
        """Start a program in the background; its output is appended to the log of that name."""
        path = self._logs.setdefault(log, self.folder / f"{log}.log")
        with path.open("ab") as output:
            subprocess.Popen(
                self.words("setsid", "--fork", *command, cwd=cwd),
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            ).wait(timeout=20)

    def run(
        self,
        *command: str,
        env: Mapping[str, str] | None = None,
        cwd: Path = Path("/"),
        timeout: float = 240,
    ) -> str:
        """Run a program to its end and return what it printed; fails if it does."""
        words = self.words(*command, cwd=cwd)
        done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=timeout)
        assert done.returncode == 0, f"{self.name}: {command}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def inside(self, path: Path) -> Path:
        """A path of this machine, with what is mounted there, as it is reached from here."""
        return Path(f"/proc/{self.init}/root") / path.relative_to("/")

    def log(self, name: str) -> str:
        path = self._logs.get(name)
        return path.read_text(errors="replace") if path else ""

    def processes(self, word: str = "") -> list[psutil.Process]:
        """Its living processes, but the first, that have `word` in their command line."""
        space = os.readlink(f"/proc/{self.init}/ns/pid")
        found = []
        for pid in psutil.pids():
            try:
                if pid == self.init or os.readlink(f"/proc/{pid}/ns/pid") != space:
                    continue
                # Of a zombie it is empty. psutil would read three files for it.
                command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
                if command and word.encode() in command:
                    found.append(psutil.Process(pid))
            except (OSError, psutil.Error):
                continue
        return found

    def kill(self, word: str, number: signal.Signals = signal.SIGKILL) -> int:
        """Send a signal to all of `processes(word)`; returns their number."""
        found = self.processes(word)
        for process in found:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)
        return len(found)

    def listening(self) -> set[int]:
        """Its TCP ports that somebody listens on, by IPv4 or IPv6."""
        there = Path(f"/proc/{self.init}/net")
        lines = [
            line.split()
            for name in ("tcp", "tcp6")  # without IPv6 there is no second one
            if (there / name).exists()
            for line in (there / name).read_text().splitlines()[1:]
        ]
        return {int(words[1].rpartition(":")[2], 16) for words in lines if words[3] == "0A"}

    def hide(self, *names: str) -> None:
        """Have programs and directories of this machine that others see not be there."""
        for name in names:
            found = shutil.which(name) if "/" not in name else name
            if found is None or not os.path.exists(found):
                continue
            if os.path.isdir(found):
                self.run("mount", "-t", "tmpfs", "none", found)
            else:
                self.run("mount", "--bind", "/dev/null", os.path.realpath(found))

    def cut_off(self) -> None:
        """Pull its cable: nothing comes in or out, and no connection is told."""
        _in_network(self._switch, "ip", "link", "set", "dev", self.name, "down")

    def reconnect(self) -> None:
        """Plug its cable in again."""
        _in_network(self._switch, "ip", "link", "set", "dev", self.name, "up")

    def delay(self, milliseconds: float) -> bool:
        """Delay what it sends; False where the kernel has no netem."""
        words = ["tc", "qdisc", "replace", "dev", "eth0", "root", "netem"]
        done = subprocess.run(
            ["nsenter", "--target", str(self.init), "--net", *words, "delay", f"{milliseconds}ms"],
            capture_output=True,
        )
        return done.returncode == 0

    @contextmanager
    def network(self) -> Iterator[None]:
        """Sockets that this thread makes meanwhile are in this machine's network."""
        with open("/proc/thread-self/ns/net") as here, open(f"/proc/{self.init}/ns/net") as there:
            _enter(there.fileno())
            try:
                yield
            finally:
                _enter(here.fileno())

    def http(self, address: str, port: int, timeout: float = 30) -> http.client.HTTPConnection:
        """A connection from this machine to a web server."""
        return _ConnectionFrom(self, address, port, timeout)


class _ConnectionFrom(http.client.HTTPConnection):
    def __init__(self, machine: Machine, address: str, port: int, timeout: float) -> None:
        super().__init__(address, port, timeout=timeout)
        self._machine = machine

    def connect(self) -> None:
        with self._machine.network():
            super().connect()


@contextmanager
def machines(names: Sequence[str], folder: Path) -> Iterator[dict[str, Machine]]:
    """Machines of these names on one bridge, each with a folder in `folder`; gone at the end.

    They also go when this process dies.
    """
    with ExitStack() as stack:
        switch = stack.enter_context(_first_process(["--net"]))
        _in_network(switch, "ip", "link", "add", "br0", "type", "bridge")
        _in_network(switch, "ip", "link", "set", "br0", "up")
        made, network = {}, ipaddress.ip_network(NETWORK)
        for number, name in enumerate(names, 10):
            init = stack.enter_context(_first_process([*_SPACES, "--mount-proc"]))
            own = folder / name
            own.mkdir(mode=0o755)
            machine = Machine(name, str(network[number]), init, own, switch)
            _plug_in(machine)
            made[name] = machine
        yield made


def _plug_in(machine: Machine) -> None:
    link = ["ip", "link", "add", "name", machine.name, "type", "veth"]
    _in_network(machine._switch, *link, "peer", "name", "eth0", "netns", str(machine.init))
    _in_network(machine._switch, "ip", "link", "set", machine.name, "master", "br0", "up")
    ids = {"/etc/machine-id": uuid.uuid4().hex, "/proc/sys/kernel/random/boot_id": uuid.uuid4()}
    commands = [
        "ip link set lo up",
        f"ip address add {machine.address}/24 dev eth0",
        "ip link set eth0 up",
        f"hostname {machine.name}",
    ]
    if not os.path.exists("/etc/machine-id"):  # as in containers
        commands += [
            f"cp --archive /etc {machine.folder}/etc",
            f"touch {machine.folder}/etc/machine-id",
            f"mount --bind {machine.folder}/etc /etc",
        ]
    for number, (path, value) in enumerate(ids.items()):
        own = machine.folder / f"id-{number}"
        own.write_text(f"{value}\n")
        commands.append(f"mount --bind {own} {path}")
    machine.run("sh", "-ec", "\n".join(commands))


@contextmanager
def _first_process(spaces: Sequence[str]) -> Iterator[int]:
    """The first process of new namespaces: its number here. All in them die with it."""
    ours = ["setpriv", "--pdeathsig", "KILL"]
    unshare = ["unshare", *spaces, "--fork", "--kill-child"]
    with subprocess.Popen(
        [*ours, *unshare, sys.executable, "-S", "-c", _INIT],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # unshare complains of a signal mask while it is killed
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            (init,) = psutil.Process(process.pid).children()
            yield init.pid
        finally:
            for child in psutil.Process(process.pid).children():
                child.kill()
            process.wait(timeout=20)


def _in_network(pid: int, *command: str) -> None:
    words = ["nsenter", "--target", str(pid), "--net", *command]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: {done.stderr}"


def _enter(descriptor: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")
