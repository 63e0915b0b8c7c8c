from askance.planning.bag_advice import BagAdvice as BagAdvice
from askance.planning.bag_advice import advise_bags as advise_bags
from askance.planning.bag_designs import BagOption as BagOption
from askance.planning.bag_plot import plot_bag_advice as plot_bag_advice
from askance.planning.study_plan import Plan as Plan
from askance.planning.study_plan import PlannedDesign as PlannedDesign
from askance.planning.study_plan import plan as plan
