"""Configs: reading a my.cnf, the gate, presets, translation between servers, scaling."""
