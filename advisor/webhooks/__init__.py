"""Notifies programs that a study or a gate has ended: signed requests, to listed hosts only."""
