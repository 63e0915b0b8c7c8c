"""Iyer, Nath and Sarawagi: privacy-preserving class ratio estimation."""
