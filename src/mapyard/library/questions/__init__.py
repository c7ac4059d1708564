"""The questions: parameters and answers, one module per group. ../question.py declares them."""
