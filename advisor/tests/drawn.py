"""Pages as text."""

from __future__ import annotations

import re
from typing import Any


def flat(answer: Any) -> str:
    """Return the text of an answer on one line: how its markup is wrapped says nothing."""
    return re.sub(r"[ \n]+", " ", answer.content.decode())
