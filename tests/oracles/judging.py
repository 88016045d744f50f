"""Corrected scores and judge noise by plain loops, from the formulas of the papers and not from the code."""

import math


def corrected_mean(rows, weight):
    """PPI++ with a fixed weight: rows of (question, judged, label or None, inclusion); equal weight per question."""
    per_question = {}
    for question, *_ in rows:
        per_question[question] = per_question.get(question, 0) + 1
    total = judge = label = labelled_judge = size = 0.0
    for question, judged, person, inclusion in rows:
        share = 1 / per_question[question]
        total += share
        judge += share * judged
        if person is not None:
            size += share / inclusion
            label += share / inclusion * person
            labelled_judge += share / inclusion * judged
    return label / size + weight * (judge / total - labelled_judge / size)


def rogan_gladen(rows):
    """The corrected rate of rows as above with one completion per question, all labels with equal inclusion."""
    right = [judged for _, judged, person, _ in rows if person == 1]
    wrong = [judged for _, judged, person, _ in rows if person == 0]
    sensitivity, specificity = sum(right) / len(right), 1 - sum(wrong) / len(wrong)
    rate = sum(judged for _, judged, *_ in rows) / len(rows)
    return (rate + specificity - 1) / (sensitivity + specificity - 1)


def flip_rate(questions):
    """Mean over questions, over completions, of the share of pairs of verdicts that differ."""
    means = []
    for completions in questions:
        each = []
        for verdicts in completions:
            pairs = [(i, j) for i in range(len(verdicts)) for j in range(i)]
            if pairs:
                each.append(sum(verdicts[i] != verdicts[j] for i, j in pairs) / len(pairs))
        if each:
            means.append(sum(each) / len(each))
    return sum(means) / len(means)


def judge_error(questions):
    """Standard error of the score that the verdicts alone add: k completions of each question, r verdicts on each."""
    total = 0.0
    for completions in questions:
        for verdicts in completions:
            mean = sum(verdicts) / len(verdicts)
            variance = sum((v - mean) ** 2 for v in verdicts) / (len(verdicts) - 1)
            total += variance / len(verdicts) / (len(questions) * len(completions)) ** 2
    return math.sqrt(total)
