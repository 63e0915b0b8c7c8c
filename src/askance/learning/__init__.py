"""Estimators, one folder for each capability, and the face that they share."""
