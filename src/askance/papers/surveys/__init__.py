"""Published surveys that asked sensitive questions by chance: their numbers, from their data."""
