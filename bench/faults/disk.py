"""A file system of its own for the device of a machine, small enough to be filled in no time."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.tests.machines import Machine

SIZE = 3 * 1024**3
_FILLING = "filling"
_PAGE = 16 * 1024


@dataclass(frozen=True)
class SmallDisk:
    """An ext4 file system in a file, mounted in one machine; it goes with the machine.

    Where there are no loop devices, as in some containers, it is one in memory.
    """

    machine: Machine
    mounted_at: Path

    def mount(self, image: Path) -> None:
        with image.open("wb") as file:
            file.truncate(SIZE)  # sparse: takes what is written
        subprocess.run(["mkfs.ext4", "-q", "-m", "0", str(image)], check=True)
        loop = f"mount -o loop {image} {self.mounted_at}"
        memory = f"mount -t tmpfs -o size={SIZE},mode=0755 none {self.mounted_at}"
        self.machine.run("sh", "-c", f"{loop} || {memory}")

    def fill(self) -> None:
        """Fill the file system to the last byte."""
        with open(self._filling, "wb", buffering=0) as file:
            space = os.fstatvfs(file.fileno())
            with suppress(OSError):
                os.posix_fallocate(file.fileno(), 0, space.f_bavail * space.f_frsize)
            file.seek(0, os.SEEK_END)
            with suppress(OSError):
                while file.write(bytes(4096)):
                    pass

    @property
    def has_no_room(self) -> bool:
        """Whether not even a page of a database can be written."""
        space = os.statvfs(self._filling.parent)
        return space.f_bavail * space.f_frsize < _PAGE

    def free(self) -> None:
        self._filling.unlink(missing_ok=True)

    @property
    def is_filled(self) -> bool:
        return self._filling.exists()

    @property
    def _filling(self) -> Path:
        return self.machine.inside(self.mounted_at) / _FILLING
