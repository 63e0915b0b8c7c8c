from askance.collector.app import Collector as Collector
from askance.collector.export import export_release as export_release
from askance.collector.keys import Keys as Keys
from askance.collector.keys import new_token as new_token
from askance.collector.law import device_law as device_law
from askance.collector.law import draw_report as draw_report
from askance.collector.questionnaire import Questionnaire as Questionnaire
from askance.collector.serving import Collection as Collection
