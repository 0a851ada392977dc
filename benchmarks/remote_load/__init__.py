"""A driver on another host: what the measured host and the load host say to each other."""
