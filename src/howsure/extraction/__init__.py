"""Answer extraction: the number, the choice or the direction that a completion gives, or None; never a guess."""
