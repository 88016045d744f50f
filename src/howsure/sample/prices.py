"""What a model's tokens cost: prices that the experiment gives, or those of a maintained table.

Money is counted in integer pico-dollars (1e-12 dollars): sums of floats never return to exactly 0, and a budget that
waits for them never ends.
"""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal, localcontext
from typing import Any
from urllib.parse import urlsplit

from howsure.benchmarks.question import Message
from howsure.errors import InputError

__all__ = ["FREE", "Price", "dollars", "likely", "most", "pico_dollars", "price_of", "unpriced", "worst_case"]

#: Pico-dollars to the dollar.
PICO = 10**12
#: Some prices depend on the hour or change on a date: the dearest of the hours that a run overnight may see.
AHEAD, STEP = timedelta(hours=24), timedelta(minutes=30)
#: What the table may charge a prompt's and a completion's tokens with, when nothing special was asked for.
PROMPT = ("input_mtok", "cache_write_mtok")
COMPLETION = ("output_mtok", "output_reasoning_mtok", "output_citation_mtok")


#: Characters of a token, and tokens that a chat template adds to each message and to a request: about.
CHARACTERS, EACH, ONCE = 4, 4, 3
#: What a chat template adds at most: marks and role of a message; a system prompt of its own.
EACH_MOST, ONCE_MOST = 16, 128


@dataclass(frozen=True, slots=True)
class Price:
    """Pico-dollars for each token of a prompt and of a completion, and for each request (most take nothing)."""

    prompt: int
    completion: int
    request: int = 0

    def cost(self, prompt_tokens: int, completion_tokens: int, requests: int = 1) -> int:
        """Pico-dollars of one request; of several when `requests` says how many the tokens are of.

        >>> Price(150_000, 600_000).cost(1000, 200)
        270000000
        """
        return self.prompt * prompt_tokens + self.completion * completion_tokens + self.request * requests


#: Of models that run in this process: nothing is sent, nothing is billed.
FREE = Price(0, 0)


def price_of(
    model_name: str,
    base_url: str,
    given: tuple[float, float] | None = None,
    *,
    context: Mapping[str, str] | None = None,
    now: datetime | None = None,
) -> Price | None:
    """The most that one model's tokens cost, or None where nobody says.

    The table is that of genai-prices as it is installed; nothing is looked up over the network. Of prices that depend
    on the length of the prompt, the hour, or on what a cache keeps, the dearest is taken: a budget has to hold.

    A server of one's own has no price, whatever the name of its model: the name says who made the weights, the address
    says who sends the bill. It is unknown rather than 0, for whoever rents a machine pays for it, and a loopback
    address may be a gateway to a provider; an experiment that knows better says `price: {prompt: 0, completion: 0}`.

    Parameters
    ----------
    model_name
        As the endpoint knows it; `PROVIDER/NAME` where `base_url` is empty.
    base_url
        Decides whose price it is. Empty: the provider that `model_name` begins with.
    given
        Dollars per million tokens of prompts and of completions; comes first.
    context
        Says which of a provider's prices, such as `{"processing": "batch"}` or `{"service_tier": "flex"}`.
    now
        Instead of the time it is.

    Raises
    ------
    InputError
        When a given price is negative or not a number.

    >>> price_of("llama-3.1-8b", "http://localhost:8000/v1", (0.15, 0.6))
    Price(prompt=150000, completion=600000, request=0)
    >>> price_of("gpt-4o-mini", "http://localhost:8000/v1") is None
    True
    """
    if given is not None:
        return Price(_per_token(given[0]), _per_token(given[1]))
    if base_url:
        if _is_local(base_url):
            return None
        whose = {"provider_api_url": base_url.lower()}
    else:
        provider, _, model_name = model_name.partition("/")
        if not model_name:
            return None
        whose = {"provider_id": provider}
    start = now or datetime.now(UTC)
    times = [start + i * STEP for i in range(AHEAD // STEP + 1)]
    prices = [_listed(model_name, whose, context, time) for time in times]
    known = [price for price in prices if price is not None]
    if len(known) < len(prices):
        return None
    return Price(
        max(price.prompt for price in known),
        max(price.completion for price in known),
        max(price.request for price in known),
    )


def likely(messages: Sequence[Message]) -> int:
    """Tokens of a prompt, about: a quarter of the characters and a few for each message.

    >>> likely([{"role": "user", "content": "What is 1+1?"}])
    10
    """
    return ONCE + sum(EACH + math.ceil(len(message["content"]) / CHARACTERS) for message in messages)


def most(messages: Sequence[Message]) -> int:
    """Tokens of a prompt at most: no tokenizer over bytes makes more tokens than there are UTF-8 bytes.

    To them come 16 for the marks around each message and 128 for what a chat template adds by itself.

    >>> most([{"role": "user", "content": "What is 1+1?"}])
    156
    """
    # A lone surrogate has no UTF-8; it is sent as three bytes at most.
    return ONCE_MOST + sum(EACH_MOST + len(message["content"].encode("utf-8", "surrogatepass")) for message in messages)


def worst_case(messages: Sequence[Message], n: int, max_tokens: int | None) -> int | None:
    """Tokens that a request for n generations takes at most; None where nothing bounds its completions."""
    return None if max_tokens is None else most(messages) + n * max_tokens


def unpriced(label: str) -> InputError:
    """The error of a money budget with a model whose price nobody says."""
    try:
        import genai_prices  # noqa: F401  only whether it is there
    except ModuleNotFoundError:
        other = ", or pip install 'howsure[prices]' for the published ones"
    else:
        other = " (0 when nobody bills it)"
    remedy = "give it: price: {prompt: DOLLARS, completion: DOLLARS} per million tokens" + other
    return InputError("a budget of money needs a price, and none is known", where=label, remedy=remedy)


def pico_dollars(amount: float) -> int:
    """Dollars to pico-dollars, exactly as they are written.

    >>> pico_dollars(0.1) * 3 == pico_dollars(0.3)
    True
    """
    return _integer(amount, PICO)


def dollars(pico: int) -> str:
    """Pico-dollars for a person: cents, or two significant digits where that is less than ten cents.

    >>> [dollars(pico) for pico in (4_200_000_000, 5 * 10**12, 1_234_500_000_000_000, 0)]
    ['$0.0042', '$5.00', '$1,234.50', '$0.00']
    """
    amount = Decimal(abs(pico)).scaleb(-12, _WIDE)
    # The first significant digit is at 10^adjusted.
    places = max(2, 1 - amount.adjusted()) if 0 < amount < Decimal("0.1") else 2
    rounded = amount.quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN, _WIDE)
    whole, _, cents = f"{rounded:,f}".partition(".")
    return f"{'-' if pico < 0 else ''}${whole}.{cents[:2]}{cents[2:].rstrip('0')}"


with localcontext() as _WIDE:
    _WIDE.prec = 60


def _per_token(per_million: float | Decimal) -> int:
    """Dollars per million tokens to pico-dollars per token."""
    return _integer(per_million, PICO // 10**6)


def _integer(amount: float | Decimal, scale: int) -> int:
    # The repr of a float is the number that was written: 0.1 is a tenth, not its nearest binary fraction.
    number = amount if isinstance(amount, Decimal) else Decimal(repr(amount))
    if not number.is_finite() or number < 0:
        raise InputError(f"{amount} is not an amount of dollars", where="price", remedy="give a number from 0 up")
    return int(_WIDE.multiply(number, Decimal(scale)).to_integral_value(ROUND_CEILING, _WIDE))


def _is_local(base_url: str) -> bool:
    """Whether the address is this machine or a private network: nobody's whose prices are published."""
    host = (urlsplit(base_url).hostname or "").rstrip(".")
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith((".localhost", ".local", ".internal", ".lan", ".home.arpa"))


def _listed(name: str, whose: dict[str, str], context: Mapping[str, str] | None, time: datetime) -> Price | None:
    """The table's price at one time, or None where it has none for both prompts and completions."""
    try:
        from genai_prices import Usage, calc_price
    except ModuleNotFoundError:
        return None
    usage = Usage(input_tokens=1, output_tokens=1)
    try:
        found: Any = calc_price(usage, name, **whose, genai_request_timestamp=time, price_context=context)
    except (LookupError, ValueError):
        return None
    prices = found.model_price
    if prices.input_mtok is None or prices.output_mtok is None:
        return None
    # A thousand requests at so many dollars.
    request = _integer(_dearest(prices.requests_kcount), PICO // 1000)
    prompt = max(_dearest(getattr(prices, key)) for key in PROMPT)
    completion = max(_dearest(getattr(prices, key)) for key in COMPLETION)
    return Price(_per_token(prompt), _per_token(completion), request)


def _dearest(price: Any) -> Decimal:
    """A price, or of one that depends on the length of the prompt the highest."""
    if price is None:
        return Decimal(0)
    if isinstance(price, Decimal):
        return price
    dearest: Decimal = max(price.base, *(tier.price for tier in price.tiers))
    return dearest
