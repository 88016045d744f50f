"""Kinds of truth: geometry by vectors, latitudes and longitudes (independent versions); a printed prompt."""

from __future__ import annotations

import math
import re
from collections import Counter

from howsure.benchmarks.built_in import directions_large, directions_small
from howsure.scorers.directions import DIRECTIONS, extract_direction


def test_large_has_each_of_5760_questions_once():
    benchmark = directions_large()
    assert len(benchmark.questions) == 8 * 2 * 5 * 6 * 3 * 4 == 5760
    assert len({q.id for q in benchmark.questions}) == 5760
    assert len({q.text for q in benchmark.questions}) == 5760
    assert Counter(Counter(benchmark.clusters).values()) == {16: 360}
    assert Counter(q.target for q in benchmark.questions) == dict.fromkeys(DIRECTIONS, 720)
    assert all(extract_direction(q.target) == q.target for q in benchmark.questions)
    assert all({q.target, *q.alternatives} == set(DIRECTIONS) for q in benchmark.questions)


ALONG = re.compile(r"(\S+) along the (\S+) (shore|coast|edge|bank|rim) of an? (\w+); in which direction .*(the \w+)")
VECTORS = {"north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0)}


def vector(direction):
    x, y = (sum(axis) for axis in zip(*(VECTORS[word] for word in direction.split("-")), strict=True))
    length = math.hypot(x, y)
    return x / length, y / length


def test_large_agrees_with_geometry_in_the_plane():
    """A place is the unit disk, its edge the unit circle: who stands on it looks for the middle, or for the sea."""
    for question in directions_large().questions:
        going, side, _, place, asked = ALONG.search(question.text).groups()
        stand, go = vector(side), vector(going)
        assert abs(stand[0] * go[0] + stand[1] * go[1]) < 1e-12, question.text  # along the edge, not across it
        to_middle = (-stand[0], -stand[1])
        sought = stand if asked == "the sea" else to_middle
        x, y = vector(question.target)
        assert math.hypot(x - sought[0], y - sought[1]) < 1e-12, question.text
        assert (place == "island") == (asked == "the sea")


GRAMMAR = re.compile(
    r"((I am|You are|She is|I have been|You have been|She has been) .* in which direction is the \w+\?"
    r"|(I was|You were|She was) .* in which direction was the \w+\?"
    r"|(I|You|She) will be .* in which direction will the \w+ be\?)"
)


def test_large_is_english_in_every_combination():
    move = re.compile(r"(walking|running|riding a bike|driving a car|travelling by bus|riding a horse) (\S+) along")
    places = {"shore of a lake", "coast of an island", "edge of a park", "bank of a river", "rim of a canyon"}
    for question in directions_large().questions:
        assert GRAMMAR.fullmatch(question.text), question.text
        assert move.search(question.text), question.text
        assert any(place in question.text for place in places)


def test_prompts_are_the_published_ones():
    """Printed: Blackwell, Barry and Cohn 2024, section 3."""
    start = (
        "You are a helpful assistant. I will give you a question about directions. The answer is either north, south"
    )
    end = "Please only reply with the answer. No yapping."
    assert directions_small().prompt.system == f"{start}, east, or west. {end}"
    assert (
        directions_large().prompt.system
        == f"{start}, east, west, north-east, north-west, south-east or south-west. {end}"
    )
    assert directions_small().prompt.template == directions_large().prompt.template == "{question}"


# Small

COMPASS = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west")
CITIES = {  # latitude and longitude in degrees
    "Rome": (41.9, 12.5),
    "Munich": (48.1, 11.6),
    "Cape Town": (-33.9, 18.4),
    "Cairo": (30.0, 31.2),
    "Miami": (25.8, -80.2),
    "Toronto": (43.7, -79.4),
    "Chicago": (41.9, -87.6),
    "New Orleans": (30.0, -90.1),
    "Oslo": (59.9, 10.8),
    "Edinburgh": (56.0, -3.2),
    "Madrid": (40.4, -3.7),
    "Paris": (48.9, 2.4),
    "Vienna": (48.2, 16.4),
    "Seoul": (37.6, 127.0),
    "Tokyo": (35.7, 139.7),
    "Denver": (39.7, -105.0),
    "Philadelphia": (40.0, -75.2),
    "Des Moines": (41.6, -93.6),
    "Berlin": (52.5, 13.4),
    "Amsterdam": (52.4, 4.9),
}


def bearing(a, b):
    """Initial course of the great circle, in degrees."""
    (lat1, lon1), (lat2, lon2) = ((math.radians(x) for x in CITIES[c]) for c in (a, b))
    y = math.sin(lon2 - lon1) * math.cos(lat2)
    x = math.cos(lat1) * math.sin(lat2) - math.sin(lat1) * math.cos(lat2) * math.cos(lon2 - lon1)
    return math.degrees(math.atan2(y, x)) % 360


def test_small_has_100_distinct_balanced_questions():
    questions = directions_small().questions
    assert Counter(q.target for q in questions) == {"north": 25, "south": 25, "east": 25, "west": 25}
    assert len({q.id for q in questions}) == len({q.text for q in questions}) == 100
    assert all({q.target, *q.alternatives} == {"north", "south", "east", "west"} for q in questions)
    assert all(q.text.endswith("?") and "  " not in q.text for q in questions)
    assert all(re.fullmatch(r"[a-z0-9-]+", q.id) for q in questions)


TURN = re.compile(
    r"facing (\S+) and (?:make (a|four) quarter turns? to your (left|right)|turn (right round|45 degrees \w+))"
)


def test_small_turns_are_right():
    checked = 0
    for question in directions_small().questions:
        if found := TURN.search(question.text):
            facing, quarters, hand, other = found.groups()
            if quarters:
                turn = {"a": 2, "four": 8}[quarters] * {"left": -1, "right": 1}[hand]
            else:
                turn = {"right round": 4, "45 degrees clockwise": 1, "45 degrees anticlockwise": -1}[other]
            assert COMPASS[(COMPASS.index(facing) + turn) % 8] == question.target, question.text
            checked += 1
    assert checked == 19


def test_small_sides_and_bearings_and_winds_are_right():
    checked = 0
    for question in directions_small().questions:
        text, target = question.text, COMPASS.index(question.target)
        if found := re.search(r"facing (\w+)\. Which direction is on your (left|right)-hand side", text):
            expected = COMPASS.index(found[1]) + (2 if found[2] == "right" else -2)
        elif found := re.search(r"(?:bearing|course) of (\d+) degrees", text):
            expected = int(found[1]) // 45
        elif found := re.search(r"From which direction does an? (\w+)erly wind", text):
            expected = COMPASS.index(found[1])
        elif found := re.search(r"\b[Aa]n? (east|west)erly wind", text):
            expected = COMPASS.index(found[1]) + 4  # it blows from there
        elif found := re.search(r"walk(?:ed)? (\d+) km due (\w+)(?: and then (\d+) km due (\w+))?", text):
            out, way, back = int(found[1]), found[2], int(found[3] or 0)
            expected = COMPASS.index(way) + (4 if back > out or not back else 0)
        elif found := re.search(r"opposite to (\w+)\?", text):
            expected = COMPASS.index(found[1]) + 4
        else:
            continue
        assert expected % 8 == target, text
        checked += 1
    assert checked == 24


def test_small_routes_agree_with_great_circles():
    checked = 0
    for question in directions_small().questions:
        found = re.search(r"From ([A-Z][\w ]+), in roughly which direction is ([A-Z][\w ]+)[,?]", question.text)
        found = found or re.search(r"flies from ([A-Z][\w ]+) to ([A-Z][\w ]+)\.", question.text)
        if found:
            off = (bearing(*found.groups()) - 45 * COMPASS.index(question.target) + 180) % 360 - 180
            assert abs(off) < 25, question.text
            checked += 1
    assert checked == 12
