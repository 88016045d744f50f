"""Slow, obvious versions of the estimators, written from the specification and the papers, never from the code.

Scores come as `scores[model][question]`, a list of individual scores: empty where the model missed the question.
Arithmetic is exact (every score becomes a Fraction); only square roots and quantiles are floats.
"""
