"""One run from start to end, and its figures. No Django here."""
