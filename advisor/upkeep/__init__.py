"""Keeps an installation going: backups, and an end for what nobody needs any more."""
