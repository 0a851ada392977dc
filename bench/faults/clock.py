"""Clocks that can be stepped: time namespaces have none of the wall clock, so it is preloaded.

Into the advisor's processes of a host, or into PostgreSQL. Servers and drivers get no such
variable and keep the kernel's clock.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

import psutil

STEP_S = 3600
_SOURCE = Path(__file__).with_name("clock.c")


def why_not() -> str:
    """Why no clock can be stepped here; empty if one can."""
    return "" if shutil.which("cc") else "there is no C compiler"


def build(folder: Path) -> Path:
    """The library, compiled."""
    made = folder / "clock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(made), str(_SOURCE)], check=True)
    made.chmod(0o755)
    return made


@dataclass(frozen=True)
class Clock:
    """The wall clock of all processes that have its `variables`."""

    file: Path
    library: Path

    def step(self, seconds: int) -> None:
        """Have it differ from the kernel's by that much, from now on."""
        if not self.file.exists():
            self.file.write_bytes(struct.pack("=q", seconds))
            self.file.chmod(0o644)
        else:
            with self.file.open("r+b") as file:  # the very file that they look at
                file.write(struct.pack("=q", seconds))

    def is_that_of(self, process: psutil.Process) -> bool:
        """Whether the process has the file before it; False for one that has only just begun."""
        try:
            return str(self.file) in Path(f"/proc/{process.pid}/maps").read_text()
        except OSError:  # it has ended
            return False

    def variables(self) -> dict[str, str]:
        """The environment of a process that goes by this clock."""
        return {"LD_PRELOAD": str(self.library), "ADVISOR_TEST_CLOCK": str(self.file)}
