"""my.cnf files as they come with a form: pasted or uploaded, by name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.files.uploadedfile import UploadedFile

from tuning.configs.candidates import MAX_NAME
from tuning.configs.files.cnf import MAX_CONFIG_BYTES

TOO_LARGE = f"larger than {MAX_CONFIG_BYTES // 1024} KiB; this is not a my.cnf."


@dataclass(frozen=True)
class ConfigText:
    """A my.cnf as it was given: kept, so that a mistake can be mended in the form."""

    name: str
    data: bytes = b""

    @property
    def text(self) -> str:
        """For a text field: what is no UTF-8 shows as replacement characters."""
        return self.data.decode(errors="replace")


def pasted_configs(names: list[str], texts: list[str]) -> tuple[list[ConfigText], list[str]]:
    """The named texts of the form and what is wrong with them; empty pairs are passed over."""
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
            # It is not sent back: a browser would be stuck with megabytes in a text field.
            config = ConfigText(name[:MAX_NAME])
        configs.append(config)
    return configs, problems


def uploaded_configs(files: list[UploadedFile[Any]]) -> tuple[list[ConfigText], list[str]]:
    """The uploaded files (name less its ending), and which are too large to be read."""
    configs, problems = [], []
    for file in files:
        if (file.size or 0) > MAX_CONFIG_BYTES:
            problems.append(f"{file.name}: {TOO_LARGE}")
        else:
            configs.append(ConfigText(Path(file.name or "uploaded").stem, file.read()))
    return configs, problems
