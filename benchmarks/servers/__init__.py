"""Servers: found, identified, started, asked, ended. No Django here."""
