"""Read the answer of a completion: a number, a choice, a direction or a text; None if none can be read."""
