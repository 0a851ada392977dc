"""Which devices the list shows: those that a filter finds, in pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import QueryDict

from advisor.pages.device.forms import KINDS
from advisor.pages.finding import MIN_FILTERED, text_asked, with_words
from benchmarks.models import Device
from tuning.results.known_devices import known_devices

DEVICES_PER_PAGE = 50
#: Of the retired ones, without pages.
MAX_RETIRED = 50
#: In which a word is looked for.
COLUMNS = ("host__name", "data_dir", "log_dir", "kind", "model", "block_device", "emulation_label")


@dataclass(frozen=True)
class DeviceFilter:
    """Of `kind`, with every word of `find` in one of their columns; "" for all."""

    find: str
    kind: str

    @classmethod
    def of(cls, asked: QueryDict) -> DeviceFilter:
        return cls(text_asked(asked), text_asked(asked, "kind"))

    def __bool__(self) -> bool:
        return bool(self.find or self.kind)

    def found(self) -> QuerySet[Device]:
        """By host and directory, without long columns."""
        rows = Device.objects.select_related("host").defer(
            *("host__inventory", "host__datasets", "identity", "log_identity")
        )
        if self.kind:
            rows = rows.filter(kind=self.kind)
        return with_words(rows, self.find, COLUMNS).order_by("host__name", "data_dir", "pk")


def listed_devices(asked: QueryDict) -> dict[str, Any]:
    """The template context of the list: a page of those in use, then retired ones."""
    chosen = DeviceFilter.of(asked)
    found = chosen.found()
    page = Paginator(found.filter(retired_at=None), DEVICES_PER_PAGE).get_page(asked.get("page"))
    retired = list(found.exclude(retired_at=None).order_by("-retired_at")[: MAX_RETIRED + 1])
    lines = known_devices([*page, *retired[:MAX_RETIRED]])
    there, more = len(page), len(retired) > MAX_RETIRED
    return {
        "page": page,
        "lines": lines[:there],
        "retired": lines[there:],
        "more_retired": more,
        "probing": any(line.active for line in lines[:there]),
        "filter": chosen,
        "has_filter": chosen or more or page.paginator.count >= MIN_FILTERED,
        "kinds": KINDS,
    }
