from askance.papers.randomised_response.baselines import reconstruct as reconstruct
from askance.papers.randomised_response.baselines import reconstruction as reconstruction
from askance.papers.randomised_response.baselines import train_on_noise as train_on_noise
