"""What operations on Fields need thought for: joining by name, reductions, NumPy's functions.
Loaded when first used.
"""
