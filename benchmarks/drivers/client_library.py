"""What the MySQL client library of a program does by itself, told by the library's name."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from benchmarks.servers.privileges import ask

_TIMEOUT_S = 10
#: MySQL's library uses TLS where the server has it since 5.7.11, whose number is 20.
_MYSQL = re.compile(r"\blibmysqlclient\.so\.(\d+)")
_FIRST_WITH_TLS = 20


def encrypts_by_itself(program: Path) -> bool:
    """Whether a program that asks its client library for nothing still gets TLS.

    False for MariaDB's library: before 3.4 it has to be asked, and since then it refuses a server
    whose certificate it cannot check. False too where nothing can be told, such as a program that
    is linked statically.
    """
    ldd = shutil.which("ldd")
    if ldd is None:
        return False
    try:
        said = ask(Path(ldd), str(program), timeout_s=_TIMEOUT_S).stdout
    except (OSError, subprocess.TimeoutExpired):
        return False
    found = _MYSQL.search(said)
    return found is not None and int(found[1]) >= _FIRST_WITH_TLS
