"""Measurements that print figures and assert nothing. Run one by `python -m bench CASE`."""
