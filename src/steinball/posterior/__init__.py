"""Draws of Markov chains against the posterior that they are meant for."""

from steinball.posterior.mcmc import mcmc_test

__all__ = ["mcmc_test"]
