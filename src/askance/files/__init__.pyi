from askance.files.atomic import written_whole as written_whole
from askance.files.location import UNREADABLE as UNREADABLE
from askance.files.location import Location as Location
from askance.files.location import StrPath as StrPath
from askance.files.location import first_line as first_line
from askance.files.targets import check_target as check_target
from askance.files.targets import write_text as write_text
