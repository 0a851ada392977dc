"""The form of a new study, filled in as for a study that there was."""

from __future__ import annotations

from typing import Any

from advisor.pages.configs.texts import ConfigText
from advisor.pages.new_study.forms import SEARCH
from tuning.requests.study import StudyRequest

_YES_NO = {True: "yes", False: "no"}


def initial_of(request: StudyRequest) -> dict[str, Any]:
    """The values of the form's fields, by name."""
    values = request.as_json()
    search = values.pop("search", {})
    typed = request.search.typed if request.search else {}
    values |= {f"{SEARCH}{name}": value for name, value in (search | typed).items()}
    return {
        **{name: _shown(name, value) for name, value in values.items()},
        "template": request.template,
        "host": [request.host],
        "devices": [str(device.id) for device in request.devices],
    }


def files_of(request: StudyRequest) -> list[ConfigText]:
    """The files that came with the request."""
    return [ConfigText(one.name, one.data) for one in request.configs]


def _shown(name: str, value: Any) -> Any:
    if name in ("races", "confirms", "takes_apart", "recovery"):
        return _YES_NO[value]
    if name == "connections":
        return ", ".join(map(str, value))
    is_text = name.startswith(SEARCH) and isinstance(value, list)
    return "\n".join(value) if is_text else value
