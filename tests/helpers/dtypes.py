"""The numbers that copies convert, by their letters in NumPy."""

NUMBERS = "?bBhHiIlLqQefdFD"
