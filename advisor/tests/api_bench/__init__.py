"""How the API stands up to many clients on a database of 10,000 runs: `make bench-api`."""
