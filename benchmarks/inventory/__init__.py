"""The rows of what a host has."""
