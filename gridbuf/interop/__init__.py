"""Bridges to other libraries, imported only when asked."""
