"""The browser app that looks at suspects and keeps the verdicts."""
