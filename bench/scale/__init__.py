"""Whether the ranking of configs is the same in smaller and larger models of one server."""
