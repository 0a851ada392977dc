"""Files that a command writes at its end, refused at its start where they cannot be."""

from __future__ import annotations

import os
from argparse import ArgumentTypeError
from pathlib import Path


def output_file(text: str) -> Path:
    """The type of an option that names such a file."""
    path = Path(text)
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise ArgumentTypeError(f"{text} is not a file path in an existing directory")
    if not os.access(path.absolute().parent, os.W_OK):
        raise ArgumentTypeError(f"{text}: its directory is not writable")
    return path
