"""The first page: answers, what runs, what has ended, what went wrong, how to start."""
