"""Texts made fit to show and to store: keys are redacted, control characters are escaped, counted nouns inflected."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TypeAlias

#: A shorter key is a placeholder such as EMPTY or none, which local servers are given, and not a secret.
SECRET_LENGTH = 12
#: A key that a model could not have written by chance has so many characters, with a letter and a digit among them.
_UNSAYABLE = re.compile(r"(?=.*[A-Za-z])(?=.*\d)\S{16,}")
#: The characters in which the base64 of addresses differs.
_URL_ALPHABET = str.maketrans("+/", "-_")
#: A run of characters of base64; a text has its runs found in one pass.
_BASE64 = re.compile(r"[\w+/-]+=*", re.ASCII)
#: A place in nested fields: the place of its parent, and the name of the field.
_Place: TypeAlias = "tuple[_Place, str | int] | None"
#: Names of fields that hold a secret, after punctuation is removed: "x-api-key", "accessToken", "Authorization", ...
_SECRET_NAME = re.compile(
    r"(^|x)key$|(api|access|secret|private|subscription|auth|account|master|signing|client|session|service|encryption)key"
    r"(id)?$|auth$|authori[sz]ation$|authentication$|bearer|passw(or)?d|passphrase|passwd|secret|credential"
    r"|cookie|signature$|(^|[a-z])token$|^jwt$|^pat$|^sas$"
)
#: Names that end like those of secrets and are settings of the decoding: "eos_token", "pad_token", "stop_token".
_DECODING_TOKEN = re.compile(
    r"(eos|bos|pad|unk|sep|cls|mask|stop|end|start|begin|special|per|image|think|thinking|first|last|each|newline|prefix|suffix|logprobs?per)token$"
)
#: Values that are keys by the form that vendors give them.
_SECRET_VALUE = re.compile(
    r"\b(Bearer|Basic|Token)\s+[\w.+/=~-]{8,}"
    r"|(?<![\w-])(sk|pk|rk|gsk|xai|hf|r8|nvapi|pplx|fw|csk|ghp|gho|ghs|github_pat|glpat|xox[abpr]|AKIA|ASIA|AIza|ya29\.|eyJ)"
    r"[-_]?[A-Za-z0-9][\w.-]{14,}",
    re.IGNORECASE,
)

#: Pattern of an id that is a hash, in Python and in the scripts of pages; its group is what is shown.
HASH = r"([0-9a-f]{12})[0-9a-f]{20,}"
#: The forms of a word or a phrase for one thing and for several.
_FORMS = re.compile(r"\[([^\[\]|]*)\|([^\[\]|]*)\]")
#: So many letters and digits without a break, among them at least one of each, are no word.
_LONG_RUN = re.compile(r"(?=[A-Za-z0-9]*\d)(?=[A-Za-z0-9]*[A-Za-z])[A-Za-z0-9]{16,}")


def inflect_text(text: str, n: int) -> str:
    """Return a text on n things; it has the forms for one and for several as "[row has|rows have]".

    >>> [f"{n} {inflect_text('[row has|rows have] no score', n)}" for n in (1, 2)]
    ['1 row has no score', '2 rows have no score']
    """
    return _FORMS.sub(r"\1" if n == 1 else r"\2", text)


def shorten_hash(name: str) -> str:
    """Return the first 12 digits of an id that is a hash of 32 hexadecimal digits or more, and any other id unchanged.

    >>> shorten_hash("0b8f8bbd8e9b3d87b1c9d4f0a7e3c2d1"), shorten_hash("gsm8k-17")
    ('0b8f8bbd8e9b…', 'gsm8k-17')
    """
    return f"{name[:12]}…" if re.fullmatch(HASH, name) else name


def is_secret(key: str) -> bool:
    """Return whether a key is long enough to be one, rather than a placeholder.

    >>> is_secret("EMPTY"), is_secret("sk-0123456789")
    (False, True)
    """
    return len(key) >= SECRET_LENGTH


def is_unsayable(key: str) -> bool:
    """Return whether a key is such that only an endpoint that echoes it can have put it into a completion.

    >>> is_unsayable("no-key-required-here"), is_unsayable("sk-planted-0123456789")
    (False, True)
    """
    return _UNSAYABLE.fullmatch(key) is not None


def redact(text: str, key: str) -> str:
    """Return a text of an endpoint with the key replaced by `***`; a placeholder is left as it is.

    >>> redact("wrong key: sk-0123456789", "sk-0123456789"), redact("none of these", "none")
    ('wrong key: ***', 'none of these')
    >>> redact("Basic dXNlcjpzay0wMTIzNDU2Nzg5", "sk-0123456789")
    'Basic ***'
    """
    if not is_secret(key):
        return text
    text = text.replace(key, "***")
    encoded = _encode_key(key)
    if not any(core in text for core in encoded):
        return text
    return _BASE64.sub(lambda run: "***" if any(core in run[0] for core in encoded) else run[0], text)


@lru_cache(maxsize=64)
def _encode_key(key: str) -> frozenset[str]:
    """Return what base64 that holds a key contains, in either alphabet, whatever stands before and behind the key."""
    cores = set()
    for n_before in range(3):
        content = bytes(n_before) + key.encode()
        encoded = base64.b64encode(content).decode().rstrip("=")
        # The characters that also hold bits of what stands before or behind the key are not known.
        core = encoded[(0, 2, 3)[n_before] : len(encoded) - (len(content) % 3 > 0)]
        cores |= {core, core.translate(_URL_ALPHABET)}
    return frozenset(cores)


def redact_completion(text: str, key: str) -> str:
    """Return a completion with the key replaced by `***`, if only an endpoint that echoes it can have written it.

    What a model itself says is never changed: a key without digits, or of fewer than 16 characters, may be a word.

    >>> redact_completion("no-key-required", "no-key-required")
    'no-key-required'
    >>> redact_completion("sent: sk-planted-0123456789", "sk-planted-0123456789")
    'sent: ***'
    """
    return redact(text, key) if is_unsayable(key) else text


def find_secret_fields(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the place of each field, at any depth, whose name or value is that of a secret, and its name.

    Examples
    --------
    >>> list(find_secret_fields({"headers": {"X-Api-Key": "1234"}, "logit_bias": {"50256": -100}}))
    [(('headers', 'X-Api-Key'), 'X-Api-Key')]
    >>> list(find_secret_fields({"user": "Bearer 0123456789abcdef", "eos_token": "</s>"}))
    [(('user',), 'user')]
    """
    # A place is kept as a pair of its parent's place and its name: copied out at each depth, it took quadratic time.
    waiting: list[tuple[_Place, object]] = [(None, value)]
    while waiting:
        place, one = waiting.pop()
        if isinstance(one, Mapping):
            items: list[tuple[str | int, object]] = [(str(name), part) for name, part in one.items()]
        elif isinstance(one, list | tuple):
            items = list(enumerate(one))
        else:
            continue
        for name, part in items:
            is_named = isinstance(name, str) and _is_secret_name(name) and _is_value(part)
            if is_named or (isinstance(part, str) and resembles_secret(part)):
                yield path + _list_names((place, name)), str(name)
            else:
                waiting.append(((place, name), part))


def _list_names(place: _Place) -> tuple[str | int, ...]:
    """Return the names on the way to a place, the outermost first."""
    names = []
    while place is not None:
        place, name = place
        names.append(name)
    return tuple(reversed(names))


def _is_secret_name(name: str) -> bool:
    """Return whether a field of this name holds a secret."""
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    return bool(_SECRET_NAME.search(plain)) and not _DECODING_TOKEN.search(plain)


def _is_value(part: object) -> bool:
    """Return whether a value may be a secret: a text that is not empty, or a mapping or a list of them."""
    return bool(part) and isinstance(part, str | Mapping | list | tuple)


def resembles_secret(text: str) -> bool:
    """Return whether a text contains a key in a form that vendors give them.

    >>> resembles_secret("sk-0123456789abcdef"), resembles_secret("sk-learn"), resembles_secret("Bearer of news")
    (True, False, False)
    """
    match = _SECRET_VALUE.search(text)
    return match is not None and any(map(str.isdigit, match[0]))


def mask_secrets(text: str) -> str:
    """Return a text in which keys that have a vendor's form are replaced by `***`.

    >>> mask_secrets("unknown variable sk-0123456789abcdef")
    'unknown variable ***'
    """
    return _SECRET_VALUE.sub(lambda match: "***" if any(map(str.isdigit, match[0])) else match[0], text)


def mask_address(address: str) -> str:
    """Return an address of an endpoint as it may be shown and stored: without user, query and keys in its path.

    A part of the path counts as a key if it has a vendor's form or 16 letters and digits without a break.

    >>> mask_address("http://me:pass@host:8000/0123456789abcdef/v1?key=1")
    'http://host:8000/***/v1'
    >>> mask_address("https://host/openai/deployments/gpt-4o-mini-2024-07-18")
    'https://host/openai/deployments/gpt-4o-mini-2024-07-18'
    """
    start, slashes, rest = address.partition("//") if "//" in address else ("", "", address)
    host, slash, path = rest.partition("?")[0].partition("#")[0].partition("/")
    parts = [part.partition(";")[0] for part in path.split("/")]
    masked = ["***" if resembles_secret(part) or _LONG_RUN.search(part) else part for part in parts]
    return f"{start}{slashes}{host.rpartition('@')[2]}{slash}{'/'.join(masked)}"


def escape_control_characters(text: str, *, keep: str = "") -> str:
    r"""Return a text without characters that steer a terminal: each becomes its escape; those in `keep` stay.

    >>> escape_control_characters("a\x1b]0;title\x07b\u202ec")
    'a\\x1b]0;title\\x07b\\u202ec'
    >>> escape_control_characters("two\nlines", keep="\n")
    'two\nlines'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text)


#: Control characters but for tabs and line breaks, and marks that change the direction of the text after them.
_INVISIBLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]")


def replace_invisible(value: object) -> object:
    r"""Return a text with U+FFFD for what a page must not hold or would show reversed, and any other value unchanged.

    >>> replace_invisible("a\x1bb\u202ec\n"), replace_invisible(3)
    ('a\ufffdb\ufffdc\n', 3)
    """
    if not isinstance(value, str) or not (letters := _INVISIBLE.findall(value)):
        return value
    return value.translate(dict.fromkeys(map(ord, letters), "\ufffd"))


def escape_json(text: str) -> str:
    r"""Return JSON without characters that steer a terminal: they become JSON's escapes, so that it says the same.

    >>> print(escape_json('{"é": "\u202e"}'))
    {"é": "\u202e"}
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)


def neutralise_formula(text: str) -> str:
    """Return a text that a spreadsheet shows instead of running it: an apostrophe is put before = + - @ and blanks.

    Numbers stay as they are.

    >>> neutralise_formula("=HYPERLINK(1)"), neutralise_formula("-0.5"), neutralise_formula("gpt-4")
    ("'=HYPERLINK(1)", '-0.5', 'gpt-4')
    """
    if text[:1] not in {"=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"}:
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text
