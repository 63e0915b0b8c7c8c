from askance.learning.ecology.crosstab_table import crosstab_records as crosstab_records
from askance.learning.ecology.crosstab_table import text_table as text_table
from askance.learning.ecology.crosstab_table import to_csv as to_csv
from askance.learning.ecology.ecological_inference import EcologicalInference as EcologicalInference
from askance.learning.ecology.margins import Unmatched as Unmatched
