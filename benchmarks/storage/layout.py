"""Our directories on a device, all below a single one, so that nothing else is ever touched."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FOLDER = "oltp-advisor"


@dataclass(frozen=True)
class DeviceLayout:
    """Our folders on a device; `log_dir` is None when data and redo log share it."""

    data_dir: Path
    log_dir: Path | None = None

    @property
    def directories(self) -> list[Path]:
        """The one or two directories of the device."""
        return [path for path in (self.data_dir, self.log_dir) if path is not None]

    @property
    def root(self) -> Path:
        return self.data_dir / FOLDER

    @property
    def datasets_dir(self) -> Path:
        return self.root / "datasets"

    @property
    def trials_dir(self) -> Path:
        return self.root / "trials"

    @property
    def runs_dir(self) -> Path:
        return self.root / "runs"

    def run_dir(self, name: str) -> Path:
        return self.runs_dir / name

    def run_log_dir(self, name: str) -> Path | None:
        return self.log_dir / FOLDER / "runs" / name if self.log_dir else None
