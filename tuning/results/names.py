"""Short names of devices."""

from __future__ import annotations

from collections.abc import Mapping


def short_names(what: Mapping[int, str], whole: Mapping[int, str]) -> dict[int, str]:
    """Return what each device is; devices that are the same get their whole name.

    what, whole: by primary key, as "NVMe" and as "NVMe at /data". Devices whose whole names are
    the same get their keys as well.
    """
    names = {}
    for pk, name in what.items():
        if list(what.values()).count(name) > 1:
            name = whole[pk]
            if list(whole.values()).count(name) > 1:
                name = f"{name} (device {pk})"
        names[pk] = name
    return names
