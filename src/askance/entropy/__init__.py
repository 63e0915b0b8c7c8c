"""Crypto-grade bits and exact draws from them."""
