"""One study, and the list of all."""
