"""The session against a model of a board; scripts/fuzz-link does the same for longer."""

from hypothesis import settings

from scripts.lib.fuzz.lossy_line import LossyLine

TestLossyLine = LossyLine.TestCase
TestLossyLine.settings = settings(max_examples=60, stateful_step_count=50, deadline=None)
