"""The parts of scenarios: the program, the way to the server, the checks."""
