"""Judges: models that score stored completions, their verdicts, and people's labels of a random sample of them.

verdict_prompts    the prompt that shows a completion to a judge as data, and the verdict that is read from its reply
judge_run          ask a judge for the verdicts that a run folder lacks, and write its scores beside the rows
stored_verdicts    verdicts and labels as `stats.judges` takes them
random_labels      a random sample of judged completions for people, with inclusion probabilities, and their labels
"""
