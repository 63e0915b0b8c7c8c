"""Patrini, Nielsen and Nock: bridging weak supervision and privacy aware learning."""
