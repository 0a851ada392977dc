"""A study on paper."""
