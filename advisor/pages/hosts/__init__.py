"""Hosts: what each does, what waits for it, what is wrong."""
