"""Words and numbers as people read them, shared by pages, API and terminal."""
