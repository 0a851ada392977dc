"""Which devices the list shows: those that a filter finds, in pages."""

from __future__ import annotations

from typing import Any

from django.http import QueryDict

from advisor.pages.devices.forms import KINDS
from advisor.pages.finding import text_asked, with_words
from advisor.pages.lists import Listing
from benchmarks.models import Device
from tuning.hosts.devices import known_devices

#: Retired devices have no pages.
MAX_RETIRED = 50
#: The columns in which a word is looked for.
COLUMNS = ("host__name", "data_dir", "log_dir", "kind", "model", "block_device", "emulation_label")
DEVICES = Listing(
    "device-list",
    "device",
    "devices",
    COLUMNS,
    "Host, directory or model",
    before="Previous",
    after="Next",
)


def listed_devices(asked: QueryDict) -> dict[str, Any]:
    """Return the template context of the list: a page of those in use, then retired ones."""
    kind = text_asked(asked, "kind")
    rows = Device.objects.select_related("host").order_by("host__name", "data_dir", "pk")
    rows = rows.defer("host__inventory", "host__datasets", "identity", "log_identity")
    if kind:
        rows = rows.filter(kind=kind)
    gone = with_words(rows.exclude(retired_at=None), text_asked(asked), COLUMNS)
    retired = list(gone.order_by("-retired_at")[: MAX_RETIRED + 1])
    has_more = len(retired) > MAX_RETIRED
    shown = DEVICES.read(asked, rows.filter(retired_at=None), is_long=has_more, kind=kind)
    lines = known_devices([*shown, *retired[:MAX_RETIRED]])
    there = len(shown.page)
    return {
        "list": shown,
        "lines": lines[:there],
        "retired": lines[there:],
        "more_retired": has_more,
        "probing": any(line.active for line in lines[:there]),
        "kinds": KINDS,
    }
