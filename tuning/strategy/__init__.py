"""Given the history, what to measure next. No Django here."""
