"""Tests that are looked at again and again: what enters them, once and for good."""
