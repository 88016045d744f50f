"""Compute the cost of requests from their tokens, with prices of the experiment or of the package genai-prices.

Money is counted in integer pico-dollars (1e-12 dollars), because a budget that reserves and releases floats never
returns to exactly 0. Published prices are decimal numbers and are converted without rounding errors.
"""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal, localcontext
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from howsure.benchmarks.question import Message
from howsure.errors import InputError

#: Number of pico-dollars in a dollar.
PICO_PER_DOLLAR = 10**12
#: Some prices depend on the hour or change on a date. The table is read for each half hour of the next 24 hours, and
#: the highest price is used.
HORIZON, STEP = timedelta(hours=24), timedelta(minutes=30)
#: Names of the prices in the table that may apply to the tokens of a prompt, and to those of a completion.
PROMPT_PRICES = ("input_mtok", "cache_write_mtok")
COMPLETION_PRICES = ("output_mtok", "output_reasoning_mtok", "output_citation_mtok")


#: Approximate characters of a token.
TOKEN_CHARACTERS = 4
#: Tokens that a chat template adds to each message and to each request: approximate numbers, and upper bounds.
MESSAGE_TOKENS, REQUEST_TOKENS = 4, 3
MAX_MESSAGE_TOKENS, MAX_REQUEST_TOKENS = 16, 128


@dataclass(frozen=True, slots=True)
class Price:
    """Pico-dollars for each token of a prompt and of a completion, and for each request (0 for most models).

    Examples
    --------
    >>> Price(prompt=150_000, completion=600_000).cost(prompt_tokens=1000, completion_tokens=200)
    270000000
    """

    prompt: int
    completion: int
    request: int = 0

    def cost(self, prompt_tokens: int, completion_tokens: int, requests: int = 1) -> int:
        """Return the cost in pico-dollars of `requests` requests that have these numbers of tokens in total.

        >>> Price(150_000, 600_000).cost(1000, 200)
        270000000
        """
        return self.prompt * prompt_tokens + self.completion * completion_tokens + self.request * requests


#: Price of models that run in this process.
FREE = Price(0, 0)


def find_price(
    model_name: str,
    base_url: str,
    own_price: tuple[float, float] | None = None,
    *,
    context: Mapping[str, str] | None = None,
    now: datetime | None = None,
) -> Price | None:
    """Return the highest price of one model's tokens, or None where it is unknown.

    The table is that of the installed genai-prices; nothing is looked up over the network. Of prices that depend on the
    length of the prompt, the hour, or a cache, the highest is used, because a budget must hold.

    A server on this machine or in a private network has no published price, whatever the name of its model. Its price
    is unknown rather than 0, because the machine may be rented, and a loopback address may be a gateway to a provider.
    An experiment may set `price: {prompt: 0, completion: 0}`.

    Parameters
    ----------
    model_name
        The model's name at the endpoint; `PROVIDER/NAME` where `base_url` is empty.
    base_url
        Address of the endpoint, which decides whose price it is; empty for the provider at the start of `model_name`.
    own_price
        Dollars per million tokens of prompts and of completions; used instead of the table.
    context
        Selects one of a provider's prices, such as `{"processing": "batch"}` or `{"service_tier": "flex"}`.
    now
        Time of the prices; by default the present.

    Raises
    ------
    InputError
        When `own_price` is negative or not a number.

    >>> find_price("llama-3.1-8b", "http://localhost:8000/v1", (0.15, 0.6))
    Price(prompt=150000, completion=600000, request=0)
    >>> find_price("gpt-4o-mini", "http://localhost:8000/v1") is None
    True
    """
    if own_price is not None:
        return Price(_to_price_per_token(own_price[0]), _to_price_per_token(own_price[1]))
    if base_url:
        if _is_local(base_url):
            return None
        provider_key = {"provider_api_url": base_url.lower()}
    else:
        provider, _, model_name = model_name.partition("/")
        if not model_name:
            return None
        provider_key = {"provider_id": provider}
    start = now or datetime.now(UTC)
    times = [start + i * STEP for i in range(HORIZON // STEP + 1)]
    prices = [_look_up_price(model_name, provider_key, context, time) for time in times]
    listed_prices = [price for price in prices if price is not None]
    if len(listed_prices) < len(prices):
        return None
    return Price(
        max(price.prompt for price in listed_prices),
        max(price.completion for price in listed_prices),
        max(price.request for price in listed_prices),
    )


def estimate_prompt_tokens(messages: Sequence[Message]) -> int:
    """Return the approximate tokens of a prompt: a quarter of the characters and a few for each message.

    >>> estimate_prompt_tokens([{"role": "user", "content": "What is 1+1?"}])
    10
    """
    return REQUEST_TOKENS + sum(
        MESSAGE_TOKENS + math.ceil(len(message["content"]) / TOKEN_CHARACTERS) for message in messages
    )


def bound_prompt_tokens(messages: Sequence[Message]) -> int:
    """Return an upper bound of the tokens of a prompt: a tokenizer never makes more tokens than there are UTF-8 bytes.

    The bound adds 16 tokens for the marks around each message and 128 for a system prompt of the chat template.

    >>> bound_prompt_tokens([{"role": "user", "content": "What is 1+1?"}])
    156
    """
    # A lone surrogate cannot be encoded in UTF-8; it is sent as at most three bytes.
    return MAX_REQUEST_TOKENS + sum(
        MAX_MESSAGE_TOKENS + len(message["content"].encode("utf-8", "surrogatepass")) for message in messages
    )


def build_missing_price_error(label: str) -> InputError:
    """Return the error of a money budget with a model whose price is unknown."""
    try:
        import_module("genai_prices")
        other = " (0 if the model costs nothing)"
    except ModuleNotFoundError:
        other = ", or pip install 'howsure[prices]' for the published ones"
    remedy = "give it: price: {prompt: DOLLARS, completion: DOLLARS} per million tokens" + other
    return InputError("a budget of money needs a price, and none is known", where=label, remedy=remedy)


def to_pico_dollars(amount: float) -> int:
    """Convert dollars to pico-dollars, exactly as the number is written.

    >>> to_pico_dollars(0.1) * 3 == to_pico_dollars(0.3)
    True
    """
    return _scale_exactly(amount, PICO_PER_DOLLAR)


def format_dollars(pico: int) -> str:
    """Return pico-dollars as text: with cents, or with two significant digits below ten cents.

    >>> [format_dollars(pico) for pico in (4_200_000_000, 5 * 10**12, 1_234_500_000_000_000, 0)]
    ['$0.0042', '$5.00', '$1,234.50', '$0.00']
    """
    amount = Decimal(abs(pico)).scaleb(-12, _WIDE)
    # The first significant digit has the place value 10^adjusted.
    places = max(2, 1 - amount.adjusted()) if 0 < amount < Decimal("0.1") else 2
    rounded = amount.quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN, _WIDE)
    dollars, _, cents = f"{rounded:,f}".partition(".")
    return f"{'-' if pico < 0 else ''}${dollars}.{cents[:2]}{cents[2:].rstrip('0')}"


with localcontext() as _WIDE:
    _WIDE.prec = 60


def _to_price_per_token(per_million: float | Decimal) -> int:
    """Convert dollars per million tokens to pico-dollars per token."""
    return _scale_exactly(per_million, PICO_PER_DOLLAR // 10**6)


def _scale_exactly(amount: float | Decimal, scale: int) -> int:
    """Return amount x scale as an integer, rounded up."""
    # The repr of a float is the decimal number that the user wrote: 0.1 means a tenth, not the nearest binary fraction.
    number = amount if isinstance(amount, Decimal) else Decimal(repr(amount))
    if not number.is_finite() or number < 0:
        raise InputError(f"{amount} is not an amount of dollars", where="price", remedy="give a number from 0 up")
    return int(_WIDE.multiply(number, Decimal(scale)).to_integral_value(ROUND_CEILING, _WIDE))


def _is_local(base_url: str) -> bool:
    """Return whether the address is this machine or a private network."""
    host = (urlsplit(base_url).hostname or "").rstrip(".")
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return "." not in host or host.endswith((".localhost", ".local", ".internal", ".lan", ".home.arpa"))


def _look_up_price(
    name: str, provider_key: dict[str, str], context: Mapping[str, str] | None, time: datetime
) -> Price | None:
    """Return the price in the table at one time; None unless the table has prices of both prompts and completions."""
    try:
        from genai_prices import Usage, calc_price
    except ModuleNotFoundError:
        return None
    usage = Usage(input_tokens=1, output_tokens=1)
    try:
        result: Any = calc_price(usage, name, **provider_key, genai_request_timestamp=time, price_context=context)
    except (LookupError, ValueError):
        return None
    prices = result.model_price
    if prices.input_mtok is None or prices.output_mtok is None:
        return None
    # The table states this price per thousand requests.
    request = _scale_exactly(_find_highest(prices.requests_kcount), PICO_PER_DOLLAR // 1000)
    prompt = max(_find_highest(getattr(prices, key)) for key in PROMPT_PRICES)
    completion = max(_find_highest(getattr(prices, key)) for key in COMPLETION_PRICES)
    return Price(_to_price_per_token(prompt), _to_price_per_token(completion), request)


def _find_highest(price: Any) -> Decimal:
    """Return a price, or the highest of one that depends on the length of the prompt."""
    if price is None:
        return Decimal(0)
    if isinstance(price, Decimal):
        return price
    highest: Decimal = max(price.base, *(tier.price for tier in price.tiers))
    return highest
