//! What a claim says of what it no longer wants and still exists.

use c5c3_api::Reason;
use function_protocol::Response;

use super::Recipe;
use crate::composed::Retention;
use crate::transitions;

/// What the release of data does, in words.
const DELETES_DATA: &str = "to delete it with all data";

/// What the release of a share does, in words.
const DRAINS_NODES: &str = "to drain its nodes, whose servers stay until they are deleted or moved";

impl Recipe<'_> {
    /// Says what is being deleted, and what that waits for; what is kept, and how to delete it.
    pub(super) fn retained(&self, retention: &Retention, response: &mut Response) {
        let mut sentences: Vec<String> = retention.deleting.iter().map(deleting).collect();
        let kept = [
            (&retention.data, DELETES_DATA),
            (&retention.shares, DRAINS_NODES),
        ];
        let kept = kept.into_iter().filter(|(names, _)| !names.is_empty());
        let kept: Vec<String> = kept
            .map(|(names, effect)| self.kept(names, effect))
            .collect();
        let (holds, reason) = match (&kept[..], &sentences[..]) {
            ([], []) => (false, Reason::NothingRetained),
            ([], _) => (true, Reason::Deleting),
            _ => (true, Reason::DataRetained),
        };
        sentences.extend(kept);
        transitions::set(response, "Retained", holds, reason, sentences.join("; "));
    }

    fn kept(&self, names: &[String], effect: &str) -> String {
        let names = names.join(",");
        let claim = &self.cluster.metadata;
        format!(
            "{names}: no longer in the spec, and kept with what is in it; {effect}: kubectl annotate \
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
