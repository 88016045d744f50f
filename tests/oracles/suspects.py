"""Suspicion of labels, one generation and one pair of models at a time.

`answers` is {question: {model: [answer or None, ...]}}, `target` {question: answer}; an answer is right if it is equal.
"""

import math


def consistency(given):
    """Sum of p (psi(n p) - psi(n)): psi(a) - psi(b) is minus the sum of 1/j from a to b - 1."""
    read = [x for x in given if x is not None]
    if len(read) < 2:
        return math.nan
    return -sum(
        read.count(x) / len(read) * sum(1 / j for j in range(read.count(x), len(read))) for x in sorted(set(read))
    )


def evidence(answers, target):
    """By question, the answer that speaks most against the target and the weighted votes for it less those for it."""
    return _fitted(answers, target)[0]


def _fitted(answers, target):
    """Evidence, and votes by question and answer."""
    votes = _votes(answers, target)
    return {q: _strongest(votes[q], target[q]) for q in answers}, votes


def _votes(answers, target):
    """Weighted votes for each answer that was given to a question, and for the target."""
    weight = {}
    for m in sorted({m for own in answers.values() for m in own}):
        each = [_right(own[m], target[q]) for q, own in answers.items() if m in own]
        p = (sum(each) + 1) / (len(each) + 2)
        weight[m] = math.log(1 + (p / (1 - p)) ** 4) / 4
    found = {}
    for q, models in answers.items():
        said = {x for own in models.values() for x in own if x is not None} | {target[q]}
        found[q] = {x: sum(weight[m] * own.count(x) / len(own) for m, own in models.items()) for x in said}
    return found


def _strongest(votes, label):
    """Of all answers but the label; nobody's answer has no votes."""
    best = (None, -votes.get(label, 0.0))
    for i, x in enumerate(sorted(set(votes) - {label})):
        if i == 0 or votes[x] - votes.get(label, 0.0) > best[1] + 1e-12:
            best = (x, votes[x] - votes.get(label, 0.0))
    return best


def upper_limit(answers, target, options, max_share=0.1):
    """By question, the largest density of planted over that of observed evidence, times the largest share of errors."""
    found, votes = _fitted(answers, target)
    observed = {q: e for q, (_, e) in found.items()}
    N = len(answers)
    n_bins = int(min(2 * math.sqrt(N), 2 * N * max_share / (1 + max_share)))
    limit = dict.fromkeys(answers, 0.0)
    strength = sorted(max(votes[q].values()) for q in answers)
    for low, high in ((0, 1), (0, 0.5), (0, 0.1), (0.5, 1)):
        least, most = _quantile(strength, low), _quantile(strength, high)
        donors = [q for q in answers if least <= max(votes[q].values()) <= most]
        for kind in ("moved", "frequent", "drawn"):
            planted = []
            for q in donors:
                wrong = [x for x in options if x != target[q]]
                labels = {"moved": wrong, "drawn": options}.get(kind)
                if labels is None:
                    labels = [max(wrong, key=lambda x, q=q: votes[q].get(x, 0.0))]
                planted += [(_strongest(votes[q], x)[1], 1 / len(labels)) for x in labels]
            whole = sum(w for _, w in planted)
            for q, ratio in _ratios(observed, [(e, w / whole) for e, w in planted], n_bins).items():
                limit[q] = max(limit[q], max_share * ratio)
    return {q: min(one, 1) for q, one in limit.items()}


def _quantile(ordered, share):
    at = share * (len(ordered) - 1)
    low = ordered[int(at)]
    return low + (at - int(at)) * (ordered[min(int(at) + 1, len(ordered) - 1)] - low)


def _ratios(observed, planted, n_bins):
    """Planted over observed mass in each bin, the largest so far, by question."""
    N, points = len(observed), sorted([(e, 1 / len(observed)) for e in observed.values()] + planted)
    edges, mass, j = set(), 0.0, 1
    for e, w in points:
        mass += w
        while j < n_bins and mass >= 2 * j / n_bins:
            edges.add(e)
            j += 1
    edges = sorted(edges)

    def at(e):
        return sum(e + 1e-9 >= edge for edge in edges)

    highest, ratios = 0.0, []
    for b in range(len(edges) + 1):
        seen = sum(at(e) == b for e in observed.values()) / N
        if seen:
            highest = max(highest, sum(w for e, w in planted if at(e) == b) / seen)
        ratios.append(highest)
    return {q: ratios[at(e)] for q, e in observed.items()}


def _right(given, target):
    return sum(x == target for x in given) / len(given)
