"""Says which differences are real: intervals, ties, verdict, racing, confirmation. No Django."""
