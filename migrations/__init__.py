"""Migrations of the store's tables; they import nothing of monitor."""
