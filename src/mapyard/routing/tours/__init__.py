"""Orders of visiting and tours of several vehicles, by VROOM in a child process."""
