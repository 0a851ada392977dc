"""What the API takes and answers: what checks and makes the JSON also makes the schema."""
