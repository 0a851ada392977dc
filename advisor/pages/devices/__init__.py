"""The devices, and one of them with its probes."""
