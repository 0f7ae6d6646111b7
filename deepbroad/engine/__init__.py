"""Runs block functions over a source, adds up what they return, and keeps memory in bounds."""
