"""The page of docs/ that is generated from the catalogue."""
