"""Telemetry of the host during a run: CPU, the server process and its devices."""
