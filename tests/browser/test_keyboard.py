"""A report by keyboard alone. Truth: Chromium, pressed as a reader presses it."""

import pytest
from helpers.chromium_window import mark_pages

pytestmark = pytest.mark.parametrize("made", mark_pages(["five", "prompts", "several", "hostile"]), indirect=True)

TAB, ENTER = ("Tab", 9), ("Enter", 13)


def press(window, key, **more):
    name, code = key
    window.press(name, code=code, text="\r" if name == "Enter" else "", **more)


@pytest.fixture
def page(window, made):
    window.show(made)
    window.probe("readThrough")
    window.value("scrollTo(0, 0)")
    return window


def test_tab_reaches_every_control_in_order_and_shows_where_it_is(page):
    controls = page.probe("controls")
    reached, unseen = [], []
    for _ in range(2 * len(controls) + 20):
        press(page, TAB)
        now = page.probe("focused")
        if reached and (now["body"] or (len(reached) > 1 and now["at"] == reached[0])):
            break  # out at the end, or round to the beginning
        if now["at"] >= 0:
            reached.append(now["at"])
        if not (now["ring"] and now["seen"]):
            unseen.append(now)
    assert [name for i, name in enumerate(controls) if i not in reached] == []
    assert reached == sorted(reached)
    assert unseen == []


def test_the_first_control_skips_to_the_content(page):
    press(page, TAB)
    assert page.value("document.activeElement.className") == "skip"
    press(page, ENTER)
    assert page.value("location.hash") == "#content"
    press(page, TAB)
    assert page.value("document.querySelector('main').contains(document.activeElement)")


def test_enter_opens_the_numbers_behind_a_figure(page):
    page.value("document.querySelector('details.numbers summary').focus()")
    press(page, ENTER)
    page.wait_for("document.querySelector('details.numbers[open] table')")
    rows = page.value("document.querySelectorAll('details.numbers[open] tbody tr').length")
    assert rows > 0
    searched = page.value("document.querySelectorAll('details.numbers[open] .search input').length")
    for _ in range(1 + searched):  # a long table is searched first
        press(page, TAB)
    assert page.value("document.activeElement.matches('details.numbers .scroll')")  # it scrolls by keys
    for _ in range(1 + searched):
        press(page, TAB, shift=True)
    press(page, ENTER)
    assert page.value("document.querySelectorAll('details.numbers[open]').length") == 0
