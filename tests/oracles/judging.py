"""Corrected scores and judge noise by plain loops, from the formulas of the papers and not from the code."""

import math

from scipy import stats


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


def corrected_error(rows, weight):
    """Standard error of PPI++ with a fixed weight: rows as above, one completion of each question, scores in [0, 1].

    Of n labels with the weights s the heaviest stands for the part max(s)/sum(s) of the score, and where all labels
    are on one verdict, none stands for the other verdicts: two pseudo-labels have the larger of these parts, or 1/n.
    """
    drawn = [row for row in rows if row[2] is not None]
    n, total = len(drawn), sum(1 / row[3] for row in drawn)
    mean_person = sum(row[2] / row[3] for row in drawn) / total
    mean_judged = sum(row[1] / row[3] for row in drawn) / total
    terms = []
    for _, judged, person, inclusion in rows:
        term = mean_person + weight * (judged - mean_judged)
        if person is not None:
            error = person - mean_person - weight * (judged - mean_judged)
            term += len(rows) / total / inclusion * error
        terms.append(term)
    center = sum(terms) / len(terms)
    variance = sum((term - center) ** 2 for term in terms) / (len(terms) - 1) / len(terms) * n / (n - 1)
    part = max(1 / n, max(1 / row[3] for row in drawn) / total)
    if len({row[1] for row in drawn}) == 1:
        part = max(part, sum(row[1] != drawn[0][1] for row in rows) / len(rows))
    return math.sqrt(variance + 2 / ((1 / part + 2) * (1 / part + 1)))


def corrected_difference_p(rows_a, rows_b):
    """P-value of the PPI++ difference of two models on the same N questions, one completion and score in [0, 1] each.

    Rows of (judged, label or None), question by question. With n labels of L and the judge's scores f, the terms of a
    model are fixed = y_L + [labelled] N/n (y - y_L) and judge = f - f_L - [labelled] N/n (f - f_L); with a weight w the
    estimate is the mean over questions of the difference of fixed + w judge, and w has the smallest variance.
    """
    size = len(rows_a)
    fixed, judge, counts = [0.0] * size, [0.0] * size, []
    for sign, rows in ((1, rows_a), (-1, rows_b)):
        labelled = [(judged, person) for judged, person in rows if person is not None]
        n = len(labelled)
        counts.append(n)
        mean_person = sum(person for _, person in labelled) / n
        mean_judged = sum(judged for judged, _ in labelled) / n
        for q, (judged, person) in enumerate(rows):
            fixed[q] += sign * mean_person
            judge[q] += sign * (judged - mean_judged)
            if person is not None:
                fixed[q] += sign * size / n * (person - mean_person)
                judge[q] -= sign * size / n * (judged - mean_judged)

    def covariance(x, y):
        center_x, center_y = sum(x) / size, sum(y) / size
        products = sum((a - center_x) * (b - center_y) for a, b in zip(x, y, strict=True))
        return products / (size - 1) / size

    weight = min(max(-covariance(fixed, judge) / covariance(judge, judge), 0), 1)
    estimate = sum(a + weight * b for a, b in zip(fixed, judge, strict=True)) / size
    n = min(counts)
    terms = [a + weight * b for a, b in zip(fixed, judge, strict=True)]
    variance = covariance(terms, terms) * n / (n - 2)
    total = variance + 2 * 2 / ((n + 2) * (n + 1))  # two pseudo-labels of each model
    df = (n - 2) * (total / variance) ** 2
    return 2 * stats.t.sf(abs(estimate) / math.sqrt(total), df)


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
