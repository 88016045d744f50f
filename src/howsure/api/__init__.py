"""The public functions: each asks one question of every benchmark that it is given.

=================  =====================================================================
model_scores       score, compare, pairs, rank, combine and repeats of models
study_plans        plan how many questions, prompt variants and generations are needed
prompt_variants    what the wording of the prompt does to a score
prompt_results     the printed table of results on prompt variants
=================  =====================================================================

Users import them from `howsure` itself.
"""
