"""Long series thinned for the screen: what stands out stays."""

from __future__ import annotations

from collections.abc import Sequence

#: Points per line: more than a screen has room for, little enough for a phone.
MAX_POINTS = 800


def kept_places(values: Sequence[float | None], most: int = MAX_POINTS) -> list[int]:
    """The places, in order, of at most `most` values that are drawn instead of all.

    The series is divided into equal parts; of each the smallest and the largest value stay, and
    of one without any value its first place, so that a gap stays a gap. Nothing is averaged: a
    stall or a peak of a single second is drawn as high as it was. The first and last place stay.
    """
    if len(values) <= most:
        return list(range(len(values)))
    parts = max((most - 2) // 2, 1)
    kept = {0, len(values) - 1}
    for part in range(parts):
        start, end = len(values) * part // parts, len(values) * (part + 1) // parts
        known = [(value, at) for at in range(start, end) if (value := values[at]) is not None]
        if known:
            kept |= {min(known)[1], max(known)[1]}
        else:
            kept.add(start)
    return sorted(kept)
