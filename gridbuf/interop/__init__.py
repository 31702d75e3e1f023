"""Bridges to other libraries, one file or package each, imported only when asked; `common` and
`pools` are what they share.
"""
