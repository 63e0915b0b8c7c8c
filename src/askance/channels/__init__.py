"""How the truth was hidden: one mechanism per module, its guarantee derived beside it."""
