"""Building the tables and postings of a dataset."""
