"""Reading a query: words, statements, and the text of statements again."""
