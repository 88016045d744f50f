"""A section of the page: what it asks, what it shows, and what it would show of other data."""

from __future__ import annotations

from dataclasses import dataclass

from howsure.report.figure import Figure, Listing

__all__ = ["Section"]


@dataclass(frozen=True)
class Section:
    """Figures and tables under one heading; without any, only the reasons for that are told.

    Attributes
    ----------
    name
        Of its place on the page: `#b1-NAME`.
    title, link
        Its heading, and what the contents call it.
    lead
        What a reader must know before the first figure.
    left_out
        Figures, or all of the section, that these data say nothing about: each with its reason.
    """

    name: str
    title: str
    link: str
    lead: str
    items: tuple[Figure | Listing, ...] = ()
    left_out: tuple[str, ...] = ()
