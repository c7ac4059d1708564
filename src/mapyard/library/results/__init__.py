"""What questions are answered with: features, matrices, tables of solutions, counts."""
