"""Profiles of real servers: the form, the list and a page for each."""
