"""The choices of a reader of the device comparison, and their query string."""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.http import QueryDict

from advisor.pages.lists import read_id
from tuning.comparison.devices import BEST


@dataclass(frozen=True)
class ComparisonChoice:
    """`run_set` and `config` are keys, `connections` is for the charts over time; the page chooses
    what is empty. `group`: without a run set that of the hosts of that study. `published`: whether
    the published layer is shown.
    """

    run_set: str = ""
    config: str = BEST
    connections: int | None = None
    published: bool = False
    group: int | None = None

    @property
    def query(self) -> str:
        """The choice as a query string; "" for the default."""
        chosen = {
            "run_set": self.run_set,
            "config": "" if self.config == BEST else self.config,
            "connections": "" if self.connections is None else str(self.connections),
            "published": "1" if self.published else "",
        }
        return urlencode({name: value for name, value in chosen.items() if value})

    @property
    def switched(self) -> ComparisonChoice:
        """This choice with the published layer toggled."""
        return replace(self, published=not self.published)


def comparison_choice(asked: QueryDict) -> ComparisonChoice:
    """Read from a query string; the page chooses what is missing or invalid."""
    return ComparisonChoice(
        run_set=asked.get("run_set", ""),
        config=asked.get("config", "") or BEST,
        connections=read_id(asked.get("connections", "")),
        published=asked.get("published") == "1",
        group=read_id(asked.get("group", "")),
    )
