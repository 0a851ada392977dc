"""The base of the commands that follow studies to their end."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from rich.console import Console

from advisor.management.command import AdvisorCommand
from advisor.processes.child import end_like_ctrl_c
from advisor.processes.supervisor import Supervisor
from advisor.terminal.follow import follow_all
from tuning.errors import TuningError
from tuning.models import Study
from tuning.studies.commands import cancel_study


class MeasuringCommand(AdvisorCommand):
    """A command that follows studies to their end; what ends the command cancels them."""

    needs_tables = False

    def handle(self, *args: Any, **options: Any) -> None:
        end_like_ctrl_c()
        try:
            super().handle(*args, **options)
        except KeyboardInterrupt:
            self.fail("interrupted: all studies of this command were cancelled")

    def follow(self, studies: Sequence[Study], console: Console, *, is_here: bool) -> None:
        """Show progress until all have ended; `is_here`: this host needs its worker."""
        try:
            with Supervisor(with_worker=is_here) as processes:
                follow_all(studies, console, processes.check)
        finally:
            for study in studies:
                if not study.is_finished:
                    # Interrupted or failed: nothing of it may start again later by itself.
                    with suppress(TuningError):  # the study may have just ended
                        cancel_study(study)
