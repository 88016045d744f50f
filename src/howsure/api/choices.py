"""The names that public functions and commands accept beside those of `stats.core.claims`, as `Literal` types."""

from __future__ import annotations

from typing import Literal, get_args

#: File formats of exported figures.
FigureFormat = Literal["svg", "png", "pdf"]
FIGURE_FORMATS: tuple[FigureFormat, ...] = get_args(FigureFormat)

#: Ground and text of exported figures.
FigureTheme = Literal["light", "dark"]
FIGURE_THEMES: tuple[FigureTheme, ...] = get_args(FigureTheme)

#: What results are converted to: a run folder, counts as JSON lines, a tidy table, or a data set for the hub.
ConversionTarget = Literal["run", "eval-arena", "parquet", "csv"]
CONVERSION_TARGETS: tuple[ConversionTarget, ...] = get_args(ConversionTarget)

#: How a command prints a result: for a person, in the width of the terminal or with all columns, or for a program.
OutputFormat = Literal["table", "wide", "json", "csv", "markdown", "latex"]
OUTPUT_FORMATS: tuple[OutputFormat, ...] = get_args(OutputFormat)
#: Those of them for a person, which have sentences beside the rows.
TEXT_FORMATS: tuple[OutputFormat, ...] = ("table", "wide")

#: How `show` prints generations: as text for a person, or as lines of JSON.
GenerationFormat = Literal["text", "jsonl"]
GENERATION_FORMATS: tuple[GenerationFormat, ...] = get_args(GenerationFormat)

#: What the best one was picked from.
Candidates = Literal["models", "variants", "checkpoints"]
CANDIDATES: tuple[Candidates, ...] = get_args(Candidates)

#: What `variants` shows in place of its own table.
PromptView = Literal["prompts", "dimensions", "order", "reference"]
PROMPT_VIEWS: tuple[PromptView, ...] = get_args(PromptView)
