"""Turn the completions of questions into rows: of those of a question, the first or none has the score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from howsure.logs.base import LogRow, RowBuilder, RowFields, RowKey
from howsure.store.schema import UNSCORED


class CompletionRows:
    """Builds the rows of a log that keeps several completions of each question and one score.

    Parameters
    ----------
    build
        The builder of rows.
    """

    def __init__(self, build: RowBuilder) -> None:
        self._build = build
        #: Number of questions by their number of completions.
        self._sizes: Counter[int] = Counter()
        self._most = self._n_questions = 0
        self._has_scores_of_all = False

    def list_rows(
        self,
        key: RowKey,
        texts: Sequence[object],
        score: RowFields,
        fields: RowFields,
        *,
        n_wanted: int = 0,
        is_of_all: bool = False,
    ) -> Iterator[LogRow]:
        """Yield the completions of one question, or one row where there is none.

        `fields` is what all of them have. A score of all completions together (`is_of_all`) is the score of none; it is
        read as one row where the user names the scorer.
        """
        build = self._build
        self._n_questions += 1
        if texts:
            self._sizes[len(texts)] += 1
            self._most = max(self._most, len(texts), n_wanted)
        if len(texts) > 1 and is_of_all:
            self._has_scores_of_all = True
            build.note("log-scores-of-all" if build.options.scorer is None else "log-scores-of-all-read", 1)
            if build.options.scorer is not None:
                for text in texts:
                    build.identical.add(key[:4], text if isinstance(text, str) else None)
                texts = ()
            else:
                score = {"status": UNSCORED}
        if not texts:
            yield build.row(key, generation=1, **(score | fields))
        for generation, text in enumerate(texts, 1):
            if not isinstance(text, str):
                score = {"status": "error", "error": "empty: no completion was kept"}
                build.note("log-lost-completion", 1)
            elif not text:
                build.note("log-empty", 1)
            completion = text if isinstance(text, str) else None
            yield build.row(key, completion=completion, generation=generation, **(score | fields))
            score = {"status": UNSCORED}

    def note_counts(self, n_planned: int, *, is_greedy: bool) -> None:
        """Note what the log does not contain: scores, completions and questions; and that completions are copies."""
        note, most = self._build.note, self._most
        if most > 1 and not self._has_scores_of_all:
            note("log-first-scored", completions=most)
        if n_fewer := sum(n for size, n in self._sizes.items() if size < most):
            note("log-fewer", n_fewer, total=self._sizes.total(), most=most)
        if most > 1 and is_greedy:
            note("log-greedy", completions=most)
        if n_planned > self._n_questions:
            note("log-planned", n_planned - self._n_questions, total=n_planned)
