"""Facts about the machine that this runs on: its files, control groups and memory."""
