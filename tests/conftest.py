"""What every test relies on: property tests are about values, never about time."""

from hypothesis import settings

settings.register_profile("gridbuf", deadline=None)
settings.load_profile("gridbuf")
