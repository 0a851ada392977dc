"""Takes a confirmed winner apart: which of its lines matter."""
