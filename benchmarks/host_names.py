"""Valid host names: each is a name of a queue, of a file and in an address."""

from __future__ import annotations

import re

HOST_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
