"""Files in, files out: a question asked of every row, on all cores, going on where it stopped."""
