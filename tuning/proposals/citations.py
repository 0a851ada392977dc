"""Reasons and sources that several sets of rules share."""

from __future__ import annotations

MANUAL = "MySQL 8.4 Reference Manual"
NO_SEEKS = "the device has no seek times"
SEEKS = "flushing neighbouring pages together saves seeks"
FEWER_ROWS = "only changed columns are written to the binary log"
FEWER_FSYNCS = "fewer fsyncs for the doublewrite buffer"
