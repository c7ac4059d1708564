"""`python -m mapyard` is `mapyard`."""

from mapyard.cli import main

main()
