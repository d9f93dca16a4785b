"""What the scenarios are made of: the program, the way to the server, the checks."""
