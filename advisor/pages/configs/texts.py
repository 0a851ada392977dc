"""my.cnf files from a form, pasted or uploaded, by name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.files.uploadedfile import UploadedFile

from tuning.configs.candidates import MAX_NAME
from tuning.configs.parse import MAX_CONFIG_BYTES, decode_cnf
from tuning.requests.configs import config_of

TOO_LARGE = f"larger than {MAX_CONFIG_BYTES // 1024} KiB; this is not a my.cnf."


@dataclass(frozen=True)
class ConfigText:
    """A my.cnf as given; it is shown again, so that errors can be corrected in the form."""

    name: str
    data: bytes = b""

    @property
    def text(self) -> str:
        """For a text field."""
        return decode_cnf(self.data)[0].removeprefix("\ufeff")

    @property
    def requested(self) -> dict[str, str]:
        """The config in a request. Raises InvalidConfig for what is no text."""
        return config_of(self.name, self.data)


def pasted_configs(names: list[str], texts: list[str]) -> tuple[list[ConfigText], list[str]]:
    """The named texts of the form and their errors; empty pairs are skipped."""
    configs, problems = [], []
    for number, (name, text) in enumerate(zip(names, texts, strict=False), start=1):
        if not name.strip() and not text.strip():
            continue
        name = name.strip() or f"pasted-{number}"
        if not text.strip():
            problems.append(f"{name}: the text is empty.")
        config = ConfigText(name, text.encode())
        if len(config.data) > MAX_CONFIG_BYTES:
            problems.append(f"{name[:MAX_NAME]}: {TOO_LARGE}")
            # Do not send it back: megabytes in a text field would hang a browser.
            config = ConfigText(name[:MAX_NAME])
        configs.append(config)
    return configs, problems


def uploaded_configs(files: list[UploadedFile[Any]]) -> tuple[list[ConfigText], list[str]]:
    """The uploaded files, named without their suffix, and which are too large to be read."""
    configs, problems = [], []
    for file in files:
        if (file.size or 0) > MAX_CONFIG_BYTES:
            problems.append(f"{file.name}: {TOO_LARGE}")
        else:
            configs.append(ConfigText(Path(file.name or "uploaded").stem, file.read()))
    return configs, problems
