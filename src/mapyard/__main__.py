"""`python -m mapyard`: the command line."""

from mapyard.cli import main

main()
