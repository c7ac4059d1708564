"""Reading a query: positions, words, and what each word may be."""
