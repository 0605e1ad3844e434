"""The labels part of panes: what labelled records add, and how they are counted."""
