"""The jobs of a host's worker: claiming a row, heartbeat, ending, storing."""
