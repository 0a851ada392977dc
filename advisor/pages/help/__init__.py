"""Show the meaning of each number."""
