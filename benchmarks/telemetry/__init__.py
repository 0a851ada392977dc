"""What the host did while a run was measured: CPU, the server process and its devices."""
