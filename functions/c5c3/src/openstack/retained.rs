//! What a claim says of what it no longer wants and still exists.

use c5c3_api::Reason;
use function_protocol::Response;

use super::Recipe;
use crate::composed::Retention;
use crate::transitions;

impl Recipe<'_> {
    /// Says what is being deleted, and what that waits for; what is kept, and how to delete it.
    pub(super) fn retained(&self, retention: &Retention, response: &mut Response) {
        let mut sentences: Vec<String> = retention.deleting.iter().map(deleting).collect();
        if !retention.kept.is_empty() {
            sentences.push(self.kept(&retention.kept));
        }
        let (holds, reason) = match (&retention.kept[..], &retention.deleting[..]) {
            ([], []) => (false, Reason::NothingRetained),
            ([], _) => (true, Reason::Deleting),
            _ => (true, Reason::DataRetained),
        };
        transitions::set(response, "Retained", holds, reason, sentences.join("; "));
    }

    fn kept(&self, names: &[String]) -> String {
        let names = names.join(",");
        let claim = &self.cluster.metadata;
        format!(
            "{names}: no longer in the spec, and kept with what is in it; to delete it with all data: kubectl annotate \
             openstackcluster {} -n {} c5c3.io/delete-retained={names}",
            claim.claim_name(),
            claim.claim_namespace()
        )
    }
}

fn deleting((name, waits): &(String, String)) -> String {
    match waits.as_str() {
        "" => format!("{name} is being deleted"),
        waits => format!("{name} is deleted once nothing is in it: {waits}"),
    }
}
