"""Measures: devices, servers, datasets, drivers, telemetry and one run from start to end."""
