"""Unpacks a recorded host: one text file for the parts of its /sys and /proc that matter.

Line by line: `PATH = TEXT` is a file, `PATH -> TARGET` a symbolic link, `PATH/` a directory;
`PATH:` is a file whose lines follow, indented by four blanks; `#` starts a remark.
"""

from __future__ import annotations

from pathlib import Path

TREES = Path(__file__).parent / "sysfs"


def unpack(name: str, root: Path) -> Path:
    """Write the tree `name` below `root` and give its root back."""
    long_file: Path | None = None
    for line in (TREES / f"{name}.tree").read_text().splitlines():
        if line.startswith("    ") and long_file is not None:
            with long_file.open("a") as file:
                file.write(f"{line[4:]}\n")
        elif line.startswith("/"):
            long_file = _entry(line, root)
        elif line and not line.startswith("#"):
            raise ValueError(f"{name}.tree: cannot be understood: {line!r}")
    return root


def _entry(line: str, root: Path) -> Path | None:
    path, arrow, target = line.partition(" -> ")
    if arrow:
        _place(root, path).symlink_to(target)
    elif " = " in line:
        path, _, text = line.partition(" = ")
        _place(root, path).write_text(f"{text}\n")
    elif line.endswith("/"):
        _place(root, line.rstrip("/")).mkdir(exist_ok=True)
    else:
        file = _place(root, line.removesuffix(":"))
        file.write_text("")
        return file
    return None


def _place(root: Path, path: str) -> Path:
    place = root / path.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    return place
