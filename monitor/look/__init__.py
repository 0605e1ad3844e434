"""The one bounded look at tables that `check` and `init` share: columns, times, some rows, how many."""
