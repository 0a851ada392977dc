#!/usr/bin/env python
"""Django's command line; `advise`, `serve`, `study`, `version` and `worker` are ours."""

from __future__ import annotations

import os
import sys

import django
from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line, load_command_class


def main() -> None:
    """Run a management command."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "advisor.settings")
    try:
        if sys.argv[1:] == ["--version"] or sys.argv[1:2] == ["version"]:
            # Django answers these itself, with its own version.
            django.setup()
            load_command_class("advisor", "version").run_from_argv(
                [sys.argv[0], "version", *sys.argv[2:]]
            )
            return
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        # A wrong environment variable is the operator's to fix: one line, no traceback.
        sys.exit(f"settings: {error}")


if __name__ == "__main__":
    main()
