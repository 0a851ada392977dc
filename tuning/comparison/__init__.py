"""Devices side by side, over all studies."""
