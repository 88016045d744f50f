"""Make generations of the results of promptfoo: providers, variants and questions by their names, without replays."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from howsure.errors import InputError
from howsure.logs.base import RowBuilder
from howsure.logs.record_functions import Records, Shared
from howsure.logs.settings import list_decoding
from howsure.logs.values import Record, as_mapping, encode_text, get_field, get_number, get_text, is_list, list_messages

_STATUS = {"length": "length", "max_tokens": "length", "content_filter": "filtered"}
#: Assertions whose value is the expected answer.
_TARGET_ASSERTIONS = ("equals", "contains", "icontains")
#: `failureReason` of a row if the provider failed, in contrast to a wrong answer.
_ERROR = 2
#: The longest label of a prompt that names a variant, and the number of characters of the hash that names it otherwise.
_N_LABEL, _N_HASH = 60, 12


def list_results(records: Records, shared: Shared, path: Path, build: RowBuilder) -> Iterator[Record]:
    """Yield the results that are no replays of promptfoo's cache; of a test that was run again, the last one."""
    file = shared.get("$file", {})
    results = []
    for record in records:
        result = _parse_result(record, build)
        if result is None:
            build.note("log-no-record", 1)
        else:
            results.append(result)
    if not results:
        raise InputError("it holds no result", where=str(path), remedy="did the evaluation run?")
    last = {result["$row"] or place: result for place, result in enumerate(results)}
    if len(last) < len(results):
        build.note("log-again", len(results) - len(last), what="test, which was run again")
    shared["$description"] = " ".join((get_text(file, "config.description") or "").split())
    if not shared["$description"]:
        build.note("log-names-benchmark", benchmark=path.stem)
    variants = _name_variants(results)
    labels = _label_providers(results)
    settings = _read_settings(get_field(file, "config.providers"))
    for result in results:
        result["$variant"] = variants[result["$prompt"]]
        result["$model"] = labels[result.get("promptIdx"), result["$provider"]]
        result["$settings"] = settings.get(result["$provider"])
    # In the order of the file, whichever of its runs counts.
    last_results = [result for place, result in enumerate(results) if last[result["$row"] or place] is result]
    replaying = _find_replaying(results)
    without_replays = list(_drop_replays(last_results, replaying, build))
    if n := sum(one["$unscored"] for one in without_replays):
        build.note("log-no-assertion", n)
    _note_collisions(without_replays, get_field(file, "runtimeOptions.repeat"), build)
    prompts = get_field(file, "results.prompts")
    shared["$means"] = {} if replaying else {name: _find_mean(prompts, name) for name in ("score", "success")}
    shared["$prompts"] = sorted(set(variants.values()))
    yield from without_replays


def _parse_result(record: Record, build: RowBuilder) -> dict[str, Any] | None:
    """Return a row with what is read of it; None where it is no result."""
    own, provider = record.get("vars"), record.get("provider")
    provider = provider if isinstance(provider, str) else get_text(provider, "label", "id")
    if not isinstance(own, Mapping) or provider is None or "score" not in record:
        return None
    own = {name: value for name, value in own.items() if not name.startswith("_") and name != "sessionId"}
    description, label = get_text(record, "testCase.description"), get_text(record, "prompt.label")
    text = description or next((value for value in own.values() if isinstance(value, str)), "")
    key = _hash_text(msgspec.json.encode([own, description], order="sorted").decode())[:8]
    response, test, column = record.get("response"), record.get("testIdx"), record.get("promptIdx")
    column = column if isinstance(column, int) else None
    output = response.get("output") if isinstance(response, Mapping) else response
    reason, error = record.get("failureReason"), get_text(record, "error")
    has_failed = reason == _ERROR if reason is not None else bool(record.get("error")) and output is None
    graded, asserted = get_field(record, "gradingResult.componentResults"), get_field(record, "testCase.assert")
    targets = [
        one["value"]
        for one in (asserted if is_list(asserted) else ())
        if as_mapping(one).get("type") in _TARGET_ASSERTIONS and isinstance(one.get("value"), str)
    ]
    return {
        **record,
        "promptIdx": column,
        "$row": (column, test, provider) if isinstance(test, int) else None,
        "$question": f"{' '.join(text.split())[:32]} {key}".strip(),
        "$provider": provider,
        "$prompt": get_text(record, "promptId") or (_hash_text(label) if label else "default"),
        "$output": None if output is None else encode_text(output),
        "$is_cached": get_field(response, "cached") is True and output is not None,
        "$failure": f"provider: {' '.join((error or 'no answer').split())}" if has_failed else None,
        # promptfoo passes a row without an assertion, whatever the answer is.
        "$unscored": not has_failed and not graded and not asserted and bool(record.get("success")),
        "$status": _STATUS.get(str(get_text(record, "response.finishReason"))),
        "$scores": {
            **dict.fromkeys(("score", "success")),
            **as_mapping(record.get("namedScores")),
            "score": record["score"],
            "success": record.get("success"),
        },
        "$target": targets[0] if len(targets) == 1 else None,
        "$messages": list_messages(get_text(record, "prompt.raw")) if build.texts else None,
    }


def _drop_replays(results: Records, replaying: set[str], build: RowBuilder) -> Iterator[Record]:
    """Yield the results without those whose text an earlier one of the cell has, where the cache keeps one of each."""
    texts: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
    for result in results:
        before, output = texts[result["$model"], result["$question"], result["$variant"]], result["$output"]
        if result["$is_cached"] and result["$provider"] in replaying and output in before:
            build.note("log-replayed-out", 1)
            continue
        if result["$is_cached"]:
            build.note("log-replayed", 1)
        before.update([output] if output is not None else [])
        yield result


def _find_replaying(results: Records) -> set[str]:
    """Return the providers whose cache holds one answer per prompt and not one per repeat."""
    cached: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
    for result in results:
        if result["$is_cached"]:
            cached[result["$provider"], result["$prompt"], result["$question"]].add(result["$output"])
    # A cache of one answer per prompt never has two texts for a cell. Newer versions cache one per repeat.
    several = {provider for (provider, *_), texts in cached.items() if len(texts) > 1}
    return {provider for provider, *_ in cached} - several


def _find_mean(prompts: object, scorer: str) -> float | None:
    """Return the mean over all rows that the totals of the prompts state; errors count as 0."""
    name = {"score": "score", "success": "testPassCount"}[scorer]
    total = n_rows = 0.0
    for prompt in prompts if is_list(prompts) else ():
        keys = (name, "testPassCount", "testFailCount", "testErrorCount")
        numbers = [number for key in keys if (number := get_number(prompt, f"metrics.{key}")) is not None]
        if len(numbers) < len(keys):
            return None
        total, n_rows = total + numbers[0], n_rows + sum(numbers[1:])
    return total / n_rows if n_rows else None


def _read_settings(providers: object) -> dict[str, dict[str, object]]:
    """Return decoding settings by label and id: a provider is a name, a mapping with `id`, or {id: mapping}."""
    settings: dict[str, dict[str, object]] = {}
    for provider in providers if is_list(providers) else ():
        options = as_mapping(provider)
        if "id" not in options and len(options) == 1:
            [(id_, inside)] = options.items()
            options = {"id": id_, **as_mapping(inside)}
        for name in (options.get("label"), options.get("id")):
            if isinstance(name, str):
                settings.setdefault(name, list_decoding(options.get("config")))
    return settings


def _note_collisions(results: Records, repeats: object, build: RowBuilder) -> None:
    """Note questions with too many rows: tests with equal vars are one question, and their rows look like repeats."""
    sizes = Counter((one["$model"], one["$question"], one["$variant"]) for one in results)
    most = repeats if isinstance(repeats, int) else min(sizes.values())
    if questions := {question for (_, question, _), n in sizes.items() if n > most}:
        build.note("log-collisions", len(questions), most=most)


def _label_providers(results: Records) -> dict[tuple[int | None, str], str]:
    """Return labels of providers; where columns of one name have the same prompt they are `name`, `name (2)`."""
    columns = {(one["promptIdx"], one["$provider"]): one["$prompt"] for one in results}
    n_columns: Counter[tuple[str, str]] = Counter()
    labels = {}
    for column, name in sorted(columns, key=lambda key: -1 if key[0] is None else key[0]):
        own = name, columns[column, name]
        n_columns[own] += 1
        labels[column, name] = f"{name} ({n_columns[own]})" if n_columns[own] > 1 else name
    return labels


def _name_variants(results: Records) -> dict[str, str]:
    """Return the names of variants by hash of the prompt: a short label that no other prompt has, or the hash."""
    prompts = {one["$prompt"]: " ".join((get_text(one, "prompt.label") or "").split()) for one in results[::-1]}
    n_labels = Counter(prompts.values())
    return {
        key: label if label and n_labels[label] == 1 and len(label) <= _N_LABEL else key[:_N_HASH]
        for key, label in prompts.items()
    }


def _hash_text(text: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
