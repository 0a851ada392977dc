"""Hosts: what is known about each, and what a user may do to them."""
