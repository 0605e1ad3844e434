"""Databases: each engine is one file behind the Protocol of `engine`; `schemes` tells them by their URLs."""
