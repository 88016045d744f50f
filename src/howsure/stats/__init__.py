"""Statistics of evaluations: arrays in, frozen results out; numpy and scipy only.

Each package imports from those above it in this list:

core          cells, results, names of claims and methods, intervals from a standard error
scores        scores of models, their standard errors and their intervals
repeats       repeated runs: drift, copies, prediction intervals, resampling
comparisons   paired differences, ranks, several benchmarks, checkpoints, providers
prompts       several prompt variants: components of the noise, effects, rank flips
planning      how many questions, variants and generations are needed
borrowing     scores from some questions with the results of other models on all of them
sequential    early stopping and adaptive allocation
questions     difficulty, label errors, repeated attempts
"""
