//! Explains why Gardener refuses a Shoot, as far as settings are to blame.

const IMAGE: &str = "the CloudProfile doesn't offer this image: correct gardener.machineImage of the Composition's input";

/// Part of a fault that Gardener reports (gardener, plugin/pkg/shoot), and what to change.
const SETTINGS: [(&str, &str); 8] = [
    (
        ".kubernetes.version: ",
        "the CloudProfile doesn't offer this version of Kubernetes: set spec.kubernetesVersion of the claim, or kubernetesVersion of \
         the Composition's input, to one that it offers, with its patch version",
    ),
    (
        ".region: ",
        "the CloudProfile doesn't have this region: add it there, or create the cluster in a region that it has",
    ),
    (
        ".zones[",
        "the CloudProfile doesn't have this zone: correct gardener.zones of the Composition's input",
    ),
    (
        ".machine.type: ",
        "the CloudProfile doesn't offer this machine type: correct the claim's machine type or class, or gardener.systemMachines of the \
         Composition's input",
    ),
    (
        "cannot be in-place updated",
        "machines are updated in place only from minVersionForUpdate on, which the CloudProfile sets for the version of the image: set \
         gardener.machineImage of the Composition's input to a version that the running machines can be updated to",
    ),
    (".machine.image", IMAGE),
    (": image is not supported", IMAGE),
    (
        ".volume.type: ",
        "the CloudProfile doesn't offer this volume type: correct gardener.volume of the Composition's input",
    ),
];

/// Whether a problem is that an API server or a webhook has refused the object (k8s.io/apimachinery, pkg/api/errors; k8s.io/apiserver,
/// pkg/admission/plugin/webhook/errors). It isn't while the API server can't be reached, or fails.
pub fn is_refusal(problem: &str) -> bool {
    [" is invalid: ", " is forbidden: ", " denied the request"]
        .iter()
        .any(|refusal| problem.contains(refusal))
}

/// Gardener's message, followed by the setting to change where it is known.
pub fn explained(problem: &str) -> String {
    match change(problem) {
        Some(change) => format!("{problem} ({change})"),
        None => problem.to_owned(),
    }
}

/// The setting to change, if Gardener refuses the Shoot because the CloudProfile doesn't offer a value; none for other problems.
fn change(problem: &str) -> Option<&'static str> {
    let refused = |fault: &&str| {
        fault.contains(": Unsupported value: ") || fault.contains(": Invalid value: ")
    };
    // Faults are joined by commas, and each begins with a path in spec.
    let setting = problem
        .split(", spec")
        .filter(refused)
        .find_map(|fault| SETTINGS.iter().find(|(part, _)| fault.contains(part)));
    setting.map(|(_, change)| *change)
}

#[cfg(test)]
mod tests {
    use super::explained;

    #[test]
    fn refusal_has_the_setting_to_change() {
        let path = "admission webhook: shoots.core.gardener.cloud \"a\" is forbidden: [";
        for (fault, setting) in [
            (
                "spec.kubernetes.version: Invalid value: \"1.99\": couldn't find a suitable version for 1.99",
                "spec.kubernetesVersion",
            ),
            (
                "spec.kubernetes.version: Unsupported value: \"1.35.9\": supported values: \"1.35.2\"",
                "spec.kubernetesVersion",
            ),
            (
                "spec.region: Unsupported value: \"mars\": supported values: \"eu-de-1\"",
                "add it there",
            ),
            (
                "spec.provider.workers[0].zones[1]: Unsupported value: \"b\": supported values: \"a\"",
                "gardener.zones",
            ),
            (
                "spec.provider.workers[0].machine.type: Unsupported value: \"laptop\": supported values: \"kvm\"",
                "machine type or class",
            ),
            (
                "spec.provider.workers[0].machine.image: Invalid value: {}: machine image version 'gardenlinux:2' cannot be in-place updated \
                 from the current version",
                "minVersionForUpdate",
            ),
            (
                "spec.provider.workers[0].machine.image.version: Unsupported value: \"1\": supported values: \"2\"",
                "gardener.machineImage",
            ),
            (
                "spec.provider.workers[0]: Invalid value: \"minix\": image is not supported",
                "gardener.machineImage",
            ),
            (
                "spec.hibernation: Forbidden: no, spec.region: Unsupported value: \"mars\": supported values: \"eu-de-1\"",
                "add it there",
            ),
            (
                "spec.provider.workers[0].volume.type: Unsupported value: \"ssd\": supported values: \"local\"",
                "gardener.volume",
            ),
        ] {
            let said = explained(&format!("{path}{fault}]"));
            assert!(said.starts_with(path) && said.contains(setting), "{said}");
        }
        for other in [
            "connection refused",
            "spec.kubernetes.version: Forbidden: kubernetes version downgrade is not supported",
        ] {
            assert_eq!(explained(other), other);
        }
    }
}
