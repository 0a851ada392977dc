"""What other programs watch the advisor by: whether it serves, and its figures for Prometheus."""
