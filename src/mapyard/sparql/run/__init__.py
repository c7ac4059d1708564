"""From algebra to tables of solutions."""
