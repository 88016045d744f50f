"""Sections of the page: the figures, tables and sentences of each, in the order of the page."""
