"""Servers, data and damage that several tests need; no tests."""
