"""Reasons and sources that several schools share."""

from __future__ import annotations

MANUAL = "MySQL 8.4 Reference Manual"
NO_SEEKS = "the device has no seeks to save"
SEEKS = "neighbouring pages in one go save a disk its seeks"
FEWER_ROWS = "only changed columns are written to the binary log"
FEWER_FSYNCS = "fewer fsyncs for the doublewrite buffer"
