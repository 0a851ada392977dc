"""A study over several hosts: its studies side by side."""
