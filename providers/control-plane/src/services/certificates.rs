//! Whether the certificates of a control plane's parts are renewed.

use provider_composer::{Conditions, Progress};
use provider_openstack::CERTIFICATES_RENEWED;

use crate::recipe::Recipe;

impl Recipe<'_> {
    /// Repeats the first part whose certificates aren't renewed in time. Ready doesn't wait for it, since all serve until these expire.
    pub(crate) fn report_renewals(&self, conditions: &mut Conditions) {
        let steps = self.graph.steps();
        let mut each = steps.filter_map(|step| self.reported(step, CERTIFICATES_RENEWED));
        if let Some(overdue) = each.find(Progress::is_failed) {
            conditions.note(CERTIFICATES_RENEWED, &overdue);
        }
    }
}
