from askance.planning.auditing.audit_questions import SHARES as SHARES
from askance.planning.auditing.audit_questions import AuditQuestion as AuditQuestion
from askance.planning.auditing.audit_report import AttributeAudit as AttributeAudit
from askance.planning.auditing.audit_report import AuditReport as AuditReport
from askance.planning.auditing.audit_report import DesignAudit as DesignAudit
from askance.planning.auditing.audit_report import NumberAudit as NumberAudit
from askance.planning.auditing.channel_audit import audit as audit
