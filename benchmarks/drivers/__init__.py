"""Workload drivers: programs that run TPC-C on a server and time each transaction."""
