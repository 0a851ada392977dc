"""What can be done to a study, a group, a gate, a host, its datasets, a device and a probe."""
