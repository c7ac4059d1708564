"""Questions on the command line: options from their parameters, answers as tables or JSON."""
