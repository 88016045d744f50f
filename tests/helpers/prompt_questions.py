"""Questions for the tests of this room."""

from __future__ import annotations

from howsure.benchmarks.question import Benchmark, Prompt, Question

CITIES = ("Rome", "Paris", "Oslo", "Bern", "Riga", "Bonn", "Lima", "Cairo", "Quito", "Delhi")


def benchmark(n=6, choices=4):
    questions = [
        Question(f"q{i}", f"Which city is number {i}?", "ABCDEFGHIJ"[i % choices], choices=CITIES[:choices])
        for i in range(n)
    ]
    return Benchmark("cities", questions, Prompt(template="{question}\n{choices}"), extract=lambda text: text or None)


def open_benchmark(n=6):
    questions = [Question(f"o{i}", f"What is {i} + {i}?", str(2 * i)) for i in range(n)]
    return Benchmark("sums", questions, Prompt(), extract=lambda text: text.strip() or None)
