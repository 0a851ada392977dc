"""Actions on studies, groups, gates, hosts, datasets, devices and probes."""
