"""What is printed: tables as they come, and the promises at the end."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


@dataclass
class Promises:
    """What was promised and whether it was kept, in the order in which it was seen."""

    seen: list[tuple[bool, str]] = field(default_factory=list)

    def note(self, text: str, *, kept: bool) -> None:
        self.seen.append((kept, text))

    def show(self) -> int:
        """Print them; the exit status."""
        say("")
        for kept, text in self.seen:
            say(f"{'kept  ' if kept else 'BROKEN'}  {text}")
        return int(not all(kept for kept, _ in self.seen))
