from askance.workflows.answer_analysis import Analysis as Analysis
from askance.workflows.answer_analysis import analyse as analyse
from askance.workflows.collected_reports import Wanted as Wanted
from askance.workflows.collected_reports import open_reports as open_reports
from askance.workflows.number_analysis import NumberAnalysis as NumberAnalysis
from askance.workflows.number_analysis import analyse_numbers as analyse_numbers
