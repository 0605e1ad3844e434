"""The main path: one cycle of one model, replays, audits. Effects come in as Protocols."""
