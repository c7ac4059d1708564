"""Parameters of questions: declared once as structs, read from any spelling, with clear errors."""
