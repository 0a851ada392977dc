"""Measures: devices, servers, datasets, workload drivers, telemetry and one run from start to end."""
