"""Settings carried from one server to another."""
