"""The devices side by side."""
