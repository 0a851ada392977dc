"""Workload drivers: programs that run a workload on a server and time each transaction."""
