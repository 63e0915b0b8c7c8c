from askance.mechanisms.sums.label_sums import LabelSums as LabelSums
from askance.mechanisms.sums.label_sums import sum_by_label as sum_by_label
from askance.mechanisms.sums.mean_operator_mechanisms import Plan as Plan
from askance.mechanisms.sums.mean_operator_mechanisms import choose as choose
