"""What each number means."""
