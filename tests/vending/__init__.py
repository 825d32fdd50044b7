"""Credentials and signatures reach what they were made for, and nothing else."""
