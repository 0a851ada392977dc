"""A my.cnf as it comes: read line by line (`cnf`), each line with the knob it means (`lookup`)."""
