"""Shift: how outputs, features and labels are distributed against the reference."""
