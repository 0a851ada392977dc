"""A my.cnf in a form: its fields, pasted or uploaded texts, and the server that it is for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile

from advisor.pages.devices.forms import PlainForm
from advisor.pages.hosts.fields import HostField
from advisor.wording.words import origin_choices, target_choices
from tuning.catalogue.target import parse_traits
from tuning.configs.candidates import MAX_NAME
from tuning.configs.parse import MAX_CONFIG_BYTES, decode_cnf
from tuning.requests.configs import config_of
from tuning.requests.load import MAX_CONNECTIONS

TOO_LARGE = f"larger than {MAX_CONFIG_BYTES // 1024} KiB; this is not a my.cnf."


@dataclass(frozen=True)
class ConfigText:
    """A my.cnf as given; it is shown again, so that errors can be corrected in the form."""

    name: str
    data: bytes = b""

    @property
    def text(self) -> str:
        """Return the config's text for a text field."""
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


class FilesForm(PlainForm):
    """The server that files were written for."""

    translate_from = forms.ChoiceField(
        label="My files were written for",
        required=False,
        choices=origin_choices,
        help_text="Lines that changed since then are renamed, converted or removed.",
    )


class CheckForm(FilesForm):
    """The server that a my.cnf is checked for, and its load."""

    target = forms.TypedChoiceField(
        label="Target server",
        required=False,
        choices=lambda: [("", "The host's own server"), *target_choices()],
        coerce=parse_traits,
        empty_value=None,
        help_text="Memory and CPU rules are only checked for the host's own server.",
    )
    host = HostField(help_text="Whose server and rules count where no other target is chosen.")
    connections = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_CONNECTIONS,
        help_text="Maximum number of concurrent connections, for rules on max_connections and "
        "memory. Optional.",
    )
    field_order = ["target", "host", "translate_from", "connections"]
