"""Measures a device: half a minute of fio on a file of our own, and its evaluation."""
