"""The form of a new study as it would have to be filled in for one that there was."""

from __future__ import annotations

from typing import Any

from advisor.pages.configs.texts import ConfigText
from tuning.models import Study
from tuning.studies.again import my_cnf_of, own_files, request_again
from tuning.studies.request import SearchRequest, StudyRequest
from tuning.studies.search_texts import OBJECTIVES, keep_text

_YES_NO = {None: "", True: "yes", False: "no"}


def initial_of(study: Study) -> dict[str, Any]:
    """The fields by name. Raises DeviceUnusable as `request_again` does."""
    asked = request_again(study)
    plain = ("template", "name", "driver", "warehouses", "warmup_s", "measure_s")
    more = ("blocks", "budget_minutes", "keeps_duplicates")
    chosen = ("races", "confirms", "takes_apart", "recovery")
    return {
        **{name: getattr(asked, name) for name in (*plain, *more)},
        **{name: _YES_NO[getattr(asked, name)] for name in chosen},
        "data_size": _size(asked.data_size),
        "memory": _size(asked.memory),
        "host": [asked.host],
        "load_host": list(asked.load_hosts),
        "server": str(asked.server),
        "connections": ", ".join(map(str, asked.connections or [])),
        "devices": [str(pk) for pk in study.devices.values_list("pk", flat=True)],
        "durability": asked.durability.value,
        "allow": [kind.value for kind in asked.allow],
        **_search_fields(asked),
    }


def files_of(study: Study) -> list[ConfigText]:
    """The files that came with it, as texts."""
    return [ConfigText(one.name, my_cnf_of(one)) for one in own_files(study)]


def _search_fields(asked: StudyRequest) -> dict[str, Any]:
    search = asked.search
    if search is None:
        return {}
    names = {metric: name for name, metric in OBJECTIVES.items()}
    return {
        "search_knobs": _knobs_text(search),
        "search_free": ", ".join(search.free),
        "search_objective": names[search.aim.objective],
        "search_keep": keep_text(search.aim),
        "search_pinned": "\n".join(f"{name}={value}" for name, value in search.pinned.items()),
        "search_bounds": "\n".join(
            f"{name}={low}..{high}" for name, (low, high) in search.bounds.items()
        ),
        "search_warm_start": search.warm_start,
    }


def _size(number: int | None) -> str:
    return "" if number is None else f"{number / 1e9:.12g}G"


def _knobs_text(search: SearchRequest) -> str:
    if search.knobs is None:
        return ""
    return str(search.knobs) if isinstance(search.knobs, int) else ", ".join(search.knobs)
