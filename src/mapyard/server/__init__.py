"""The processes behind `mapyard serve`, and the whole service in one process."""
