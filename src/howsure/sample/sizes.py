"""How many generations one request asks for: what an endpoint takes is learnt from what it does."""

from __future__ import annotations

from howsure.sample.entries import ModelEntry

__all__ = ["MOST", "Sizes"]

#: Generations per request where the endpoint has not said what it takes, and with log-probabilities.
MOST, MOST_LOGPROBS = 128, 8
#: Replies in a row with fewer choices than asked for, after which fewer are asked for.
SHORT = 3


class Sizes:
    """How many generations a request to one model may ask for.

    Parameters
    ----------
    learnt
        What an earlier session of the run found, or None.

    Attributes
    ----------
    most
        Generations per request now.
    learnt
        What the endpoint turned out to take, or None while it takes all that is asked for.
    note
        What to tell of it, or "".
    """

    def __init__(self, entry: ModelEntry, learnt: int | None = None) -> None:
        most = entry.choices or MOST
        if entry.settings.extra.get("logprobs"):
            most = min(most, MOST_LOGPROBS)
        if entry.tokens_per_minute is not None and entry.longest is not None:
            # Endpoints reserve n x max_tokens at once; what exceeds half a minute's allowance may never be let in.
            most = max(1, min(most, int(entry.tokens_per_minute / 2 / entry.longest)))
        self.most = most if learnt is None else min(most, learnt)
        self.learnt = learnt
        self.note = ""
        self._short: list[int] = []

    def came(self, asked: int, came: int) -> None:
        """Ask for fewer when the endpoint keeps sending fewer; one short reply may be chance."""
        if came >= asked:
            self._short.clear()
        elif asked <= self.most:
            self._short.append(came)
            if len(self._short) == SHORT:
                self._cap(max(self._short), "sends")
                self._short.clear()

    def rejected(self, asked: int, said: int | None) -> None:
        """So many were refused, and so many the endpoint said it takes."""
        if asked <= self.most:
            self._cap(said if said and said < asked else 1, "takes")

    def _cap(self, most: int, verb: str) -> None:
        self.most = self.learnt = most
        self.note = (
            f"the endpoint {verb} {'one generation' if most == 1 else f'at most {most} generations'} per request; "
            "more requests are made instead"
        )
