"""Servers: found, identified, started, queried, stopped. No Django here."""
