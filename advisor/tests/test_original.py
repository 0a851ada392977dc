"""The processes of a test run are copies of one that has imported the tests."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from advisor.tests.original import original

TELL = """
import json, os, sys
there = "test_imported" in sys.modules
print(json.dumps([sys.stdin.read(), there, os.getppid(), "PYTEST_VERSION" in os.environ]))
sys.stderr.write("an error")
"""


def test_copies_have_what_the_original_imported_and_their_own_input_and_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DJANGO_SETTINGS_MODULE", raising=False)  # it takes a second
    for name in [name for name in os.environ if name.startswith("PYTEST_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # half of one
    (tmp_path / "test_imported.py").write_text("def test(): pass")
    (tmp_path / "test_broken.py").write_text("import no_such_module")
    path = str(tmp_path / "asked")
    root = str(Path(__file__).parents[2])
    told = []
    with original(path, root, [str(tmp_path)], is_covered=False) as command:
        for text in ("one", "two"):
            ended = subprocess.run(
                [*shlex.split(command), "-u", "-c", "not looked at"],
                input=f"{TELL!r}\n{text}",
                capture_output=True,
                text=True,
                check=True,
            )
            told.append(json.loads(ended.stdout))
            assert ended.stderr == "an error"
    of = told[0][2]
    assert told == [["one", True, of, False], ["two", True, of, False]]
    assert not Path(f"/proc/{of}").exists()  # it ended with the block
