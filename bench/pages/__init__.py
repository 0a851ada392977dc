"""What a page costs with years of runs in the database."""
