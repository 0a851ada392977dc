"""What a server makes of a set of knobs: before it has started, and read back afterwards."""
