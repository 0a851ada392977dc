"""Configs that were measured before, by a name that a script can keep."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.models import Config
from tuning.catalogue.target import ServerTraits, traits_of
from tuning.errors import BadRequest
from tuning.models import Recommendation

#: The server's own defaults.
DEFAULTS = "default"
_HASH = re.compile(r"[0-9a-f]{8,64}")
_STUDY = re.compile(r"study:([0-9]{1,18})")
_MAX_NAME = 40


@dataclass(frozen=True)
class NamedConfig:
    """A config under the name that it gets in a study.

    Either `file`, the text of a my.cnf, or `knobs`, which is empty for the server's defaults.
    origin: the server that it was measured on; None where it is used as it is. source: where it
    comes from, for people.
    """

    name: str
    file: bytes | None = None
    knobs: Mapping[str, str] = field(default_factory=dict)
    origin: ServerTraits | None = None
    source: str = "the server's defaults"


def named_config(stored: str, host: str, device: Path | None, *, about: str) -> NamedConfig:
    """Return the config that `stored` names.

    `default` or "": the server's defaults. 8 characters or more of a hash: that config.
    `study:ID` or a study's name: its recommended config; of studies with one name the newest.

    `host` and `device` choose among the recommendations of a study of several devices.
    Raises BadRequest about that field for what is not there or not clear.
    """
    if stored in ("", DEFAULTS):
        return NamedConfig("server-default")
    if _HASH.fullmatch(stored) and (config := _by_hash(stored, about)):
        return NamedConfig(
            f"config {config.hash[:12]}", knobs=config.knobs, source="a stored config"
        )
    numbered = _STUDY.fullmatch(stored)
    found = (
        Recommendation.objects.filter(study_id=int(numbered[1]))
        if numbered
        else Recommendation.objects.filter(study__name=stored)
    )
    newest = found.order_by("-study_id").values_list("study_id", flat=True).first()
    rows = list(
        found.filter(study_id=newest or 0)
        .select_related("candidate__config", "study__server", "study__host", "device")
        .order_by("durability", "pk")
    )
    here = [
        row
        for row in rows
        if row.study.host.name == host and device in (None, Path(row.device.data_dir))
    ]
    rows = here or rows
    if not rows:
        raise BadRequest(
            f"there is no config {stored!r}: name 'default', the hash of a config, 'study:ID' or "
            "the name of a study that has a recommendation",
            field=about,
        )
    if len({row.candidate.config_id for row in rows}) > 1:
        hashes = ", ".join(sorted({row.candidate.config.hash[:12] for row in rows}))
        raise BadRequest(
            f"study {newest} recommends several configs, name one by its hash: {hashes}",
            field=about,
        )
    chosen = rows[0]
    return NamedConfig(
        f"{chosen.candidate.name[:_MAX_NAME]} of study {newest}",
        knobs=chosen.candidate.config.knobs,
        origin=traits_of(chosen.study.server),
        source=f"recommended by study {newest}",
    )


def _by_hash(text: str, about: str) -> Config | None:
    found = list(Config.objects.filter(hash__startswith=text)[:2])
    if len(found) > 1:
        raise BadRequest(f"{text} begins the hash of several configs", field=about)
    return found[0] if found else None
