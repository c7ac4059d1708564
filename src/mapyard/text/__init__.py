"""Analysis of names and addresses, the text index and its documents."""
