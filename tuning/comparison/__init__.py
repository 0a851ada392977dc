"""Devices, configs and baselines compared over all studies."""
