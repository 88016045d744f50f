"""Read MT-Bench's judgments of single answers: `model_judgment/JUDGE_single.jsonl`.

A record is the rating of one turn, from 1 to 10. Each turn is a question of its own, `81-turn-1`, in the cluster of
its conversation, because the turns of a conversation are not independent. The mean over both turns is MT-Bench's
score. A rating of -1 is a reply of the judge that could not be read; MT-Bench leaves it out, and it is missing here.
The judges are the scorers. The record of `--columns` is a judgment: `turn`, `judge.1`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from howsure.errors import InputError
from howsure.logs.base import PromptFields, RowBuilder, UsageFields, get_field
from howsure.logs.file_formats import FileHead, read_json_lines
from howsure.logs.record_reader import Record, RecordedRun, RecordReader, get_number, get_text, list_messages

_KEYS = {"question_id", "model", "judge", "score", "turn"}
_PAIR_KEYS = {"question_id", "model_1", "model_2", "g1_winner", "g2_winner", "judge"}
#: The question and the answer in what was sent to the judge about one turn.
_ONE_TURN = re.compile(
    r"\[Question\]\n(?P<question>.*?)\n\n(?:\[The Start of Reference.*?)?"
    r"\[The Start of Assistant's Answer\]\n(?P<answer>.*)\n\[The End of Assistant's Answer\]",
    re.DOTALL,
)
#: The parts of a conversation of two turns.
_SPEAKER = re.compile(r"^### (User|Assistant A|Reference answer):\n", re.MULTILINE)


class MtBenchReader(RecordReader):
    """Reads the ratings of MT-Bench, one row for each turn."""

    name = "MT-Bench"

    def recognises(self, head: FileHead) -> bool:
        """Return whether the first record is a judgment of one answer, or of a pair of answers."""
        return head.kind == "json" and (head.keys >= _KEYS or head.keys >= _PAIR_KEYS)

    def parse(self, path: Path, build: RowBuilder) -> RecordedRun:
        """Return the judgments of all models."""
        if FileHead(path).keys >= _PAIR_KEYS:
            raise InputError(
                "it holds judgments of pairs of models, which are no scores of one model",
                where=str(path),
                remedy="judge single answers: gen_judgment.py --mode single",
            )
        judges: Counter[str] = Counter()
        records = []
        for judgment in read_json_lines(path, dict[str, object], build.note):
            conversation, model = get_text(judgment, "question_id"), get_text(judgment, "model")
            turn = get_number(judgment, "turn")
            if conversation is None or model is None or turn is None:
                build.count("[judgment names|judgments name] no question, model or turn and [is|are] left out")
                continue
            judge = get_text(judgment, "judge.0") if isinstance(judgment.get("judge"), list) else None
            judge = judge or get_text(judgment, "judge") or "judge"
            judges[judge] += 1
            score = judgment.get("score")
            is_failed = isinstance(score, (int, float)) and score < 0
            completion, prompt = _read_texts(judgment)
            records.append(
                Record(
                    model=model,
                    question=f"{conversation}-turn-{turn:g}",
                    cluster=conversation,
                    scores={judge: score},
                    source=judgment,
                    failure="the reply of the judge has no rating that can be read (-1)" if is_failed else "",
                    is_counted=False,
                    usage=UsageFields(created=get_number(judgment, "tstamp")),
                    completion=completion,
                    prompt=prompt,
                )
            )
        scorers = tuple(name for name, _ in judges.most_common()) or ("judge",)
        return RecordedRun(
            benchmark="mt_bench",
            model=records[0].model if records else "unknown",
            # A judgment of another judge is no generation of its own.
            records=_merge_judges(records) if len(scorers) > 1 else records,
            scorers=scorers,
        )


def _merge_judges(records: list[Record]) -> list[Record]:
    """Return one record for each turn of each model, with the ratings of all judges."""
    merged: dict[tuple[str, str, str | None, int], Record] = {}
    for record in records:
        n = 0
        key = (record.model, record.question, record.completion, n)
        while key in merged and merged[key].scores.keys() & record.scores.keys():
            n += 1
            key = (record.model, record.question, record.completion, n)
        if key in merged:
            # The failure of one judge is none of the others: its score stays absent.
            before = merged[key]
            ratings = {**({} if before.failure else before.scores), **({} if record.failure else record.scores)}
            before.scores, before.failure = ratings, before.failure if before.failure and record.failure else ""
        else:
            merged[key] = record
    return list(merged.values())


def _read_texts(judgment: Mapping[str, object]) -> tuple[str | None, PromptFields]:
    """Return completion and prompt, from what was sent to the judge."""
    text = get_field(judgment, "user_prompt")
    if not isinstance(text, str):
        return None, {}
    if match := _ONE_TURN.search(text):
        return match["answer"], {"messages": list_messages(match["question"])}
    # Of the conversation after the reference answers: speaker and text by turns.
    _, _, conversation = text.rpartition("<|The Start of Assistant A's Conversation with User|>")
    conversation = conversation.partition("<|The End of Assistant A's Conversation with User|>")[0]
    parts = _SPEAKER.split(conversation)[1:]
    turns = [
        {"role": "user" if speaker == "User" else "assistant", "content": content.strip()}
        for speaker, content in zip(parts[::2], parts[1::2], strict=True)
    ]
    return (turns[-1]["content"], {"messages": tuple(turns[:-1])}) if turns else (None, {})
