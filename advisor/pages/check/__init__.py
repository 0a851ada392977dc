"""Checking a my.cnf without a study."""
