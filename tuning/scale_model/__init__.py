"""A scale model of a user's server: less data, less memory, the same proportion."""
