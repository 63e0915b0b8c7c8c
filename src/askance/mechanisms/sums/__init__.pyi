from askance.mechanisms.sums.label_sums import LabelSums as LabelSums
from askance.mechanisms.sums.label_sums import sum_by_label as sum_by_label
from askance.mechanisms.sums.mean_operator_mechanisms import SumMechanism as SumMechanism
from askance.mechanisms.sums.mean_operator_mechanisms import choose_sum_mechanism as choose_sum_mechanism
