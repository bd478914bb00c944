//! What Gardener refuses because its CloudProfile doesn't have it, and which setting to change.

/// Where Gardener finds a fault (gardener, plugin/pkg/shoot), and what to change.
const SETTINGS: [(&str, &str); 6] = [
    (
        "spec.kubernetes.version: ",
        "no version that the CloudProfile offers: name another in spec.kubernetesVersion, or in kubernetesVersion of the \
         Composition's input",
    ),
    (
        "spec.region: ",
        "no region of the CloudProfile: make a cluster in another one, or add the region there",
    ),
    (
        ".zones[",
        "no zone of the CloudProfile: correct gardener.zones of the Composition's input",
    ),
    (
        ".machine.type: ",
        "no machine type of the CloudProfile: correct the claim's machine type or class, or gardener.systemMachines of the \
         Composition's input",
    ),
    (
        ".machine.image",
        "no image of the CloudProfile: correct gardener.machineImage of the Composition's input",
    ),
    (
        ".volume.type: ",
        "no volume type of the CloudProfile: correct gardener.volume of the Composition's input",
    ),
];

/// Gardener's words, with the setting to change after them where it is known.
pub fn explained(problem: &str) -> String {
    let setting = SETTINGS.iter().find(|(field, _)| {
        let faults = problem.match_indices(field);
        faults.into_iter().any(|(at, _)| {
            let fault = problem[at..].split(", spec.").next().unwrap_or_default();
            fault.contains(": Unsupported value: ") || fault.contains(": Invalid value: ")
        })
    });
    match setting {
        Some((_, change)) => format!("{problem} ({change})"),
        None => problem.to_owned(),
    }
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
                "add the region",
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
                "spec.provider.workers[0].machine.image.version: Unsupported value: \"1\": supported values: \"2\"",
                "gardener.machineImage",
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
