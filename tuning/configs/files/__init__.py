"""A my.cnf as written: read line by line (`cnf`), with the knob of each line (`lookup`)."""
