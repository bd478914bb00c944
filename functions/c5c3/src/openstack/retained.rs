//! What a claim says of what it no longer wants and still exists.

use c5c3_api::Reason;
use function_protocol::Response;

use super::Recipe;
use crate::composed::Retention;
use crate::transitions;

/// How many characters of a name without effect a message has: the annotation may have any text.
const LONGEST: usize = 100;

/// What the release of data does, in words.
const DELETES_DATA: &str = "to delete it with all data";

/// What the release of a share does, in words.
const DRAINS_NODES: &str = "to drain its nodes, whose servers stay until they are deleted or moved";

impl Recipe<'_> {
    /// Says what is being deleted, and what that waits for; what is kept, and how to delete it; and which names of the annotation
    /// have no effect.
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
        let (holds, reason) = match (&kept[..], &sentences[..], &retention.unmatched[..]) {
            ([], [], []) => (false, Reason::NothingRetained),
            ([], [], _) => (false, Reason::NotRetained),
            ([], ..) => (true, Reason::Deleting),
            _ => (true, Reason::DataRetained),
        };
        sentences.extend(unmatched(&retention.unmatched));
        if self.keeps_nova {
            sentences.push("Nova stays on until no HypervisorShare has nodes".to_owned());
        }
        sentences.extend(kept);
        transitions::set(response, "Retained", holds, reason, sentences.join("; "));
    }

    fn kept(&self, names: &[String], effect: &str) -> String {
        let names = names.join(",");
        let claim = &self.cluster.metadata;
        format!(
            "{names}: no longer in the spec, and kept with what is in it; {effect}, annotate the claim, and remove the annotation \
             once it is gone: kubectl annotate --overwrite openstackcluster {} -n {} c5c3.io/delete-retained={names}",
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

/// Says which names of the annotation have no effect.
fn unmatched(names: &[String]) -> Option<String> {
    let quote = |name: &String| format!("{:?}", name.chars().take(LONGEST).collect::<String>());
    let quoted: Vec<String> = names.iter().map(quote).collect();
    (!names.is_empty()).then(|| {
        format!(
            "the annotation c5c3.io/delete-retained has {}, and nothing of that name is retained: correct or remove it, because it counts as \
             soon as the spec no longer wants a part of that name",
            transitions::listed(&quoted)
        )
    })
}
