"""Basis of all statistics: cells, results, names of claims and methods, intervals from a standard error.

Import from the modules. This package imports none of them itself, because the command line needs `claims` without the
time that importing numpy takes.

claims               `Literal` types of claims, methods and rules, and the checks of arguments
cells                `Cells`: counts and sums of scores of each model and question
cube                 `Cube`: the same for each prompt variant; `Layout`: means and their noise
results              `Result`, `Results`: columns by name, tables, frames
text_table           columns as a text table, in full or in a width, and as HTML
printed_width        how results are printed, which the package that prints them sets
intervals            interval of an estimate from its standard error
variance_intervals   intervals of variances
multiplicity         Holm and Benjamini-Hochberg
strata               means over benchmarks or subjects, and their errors
pair_sums            sums over common questions, for all pairs of models
"""
