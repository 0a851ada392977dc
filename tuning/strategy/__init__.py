"""Decides what to measure next, given the history. No Django here."""
