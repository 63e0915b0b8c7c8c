from askance.papers.linear_moments.count_beam import beam_posteriors as beam_posteriors
