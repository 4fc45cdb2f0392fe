"""Fixtures of models that are loaded."""

from tests.pipeline.conftest import shared as shared
from tests.pipeline.conftest import subject as subject
