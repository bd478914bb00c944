//! What texts are written as, in words.

/// Patterns of many fields, and what they mean to whoever writes such a text. Fields with a pattern of their own have a title or an example
/// in their description.
const FORMS: [(&str, &str); 11] = [
    (
        r"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$",
        "letters, digits, dashes, underscores and dots, for instance az-1",
    ),
    (
        r"^([0-9]{1,3}(\.[0-9]{1,3}){3}|[0-9a-f:]*:[0-9a-f:.]*)$",
        "an IP address, for instance 192.0.2.7",
    ),
    (
        r"^([a-z0-9]([-.a-z0-9]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$",
        "letters, digits, dashes, underscores and dots, after a domain and a slash or without, for instance \
         topology.kubernetes.io/zone",
    ),
    (
        r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
        "a UUID, for instance 6f1d0c3a-51a8-4c9e-9d53-2a7f5f0f6a11",
    ),
    (
        r"^[1-9][0-9]*(\.[0-9]+)?(Gi|Ti|Pi|G|T|P)$",
        "a number and Gi, Ti, Pi, G, T or P, for instance 500Ti",
    ),
    (
        r"^[A-Z0-9_]+$",
        "capital letters, digits and underscores, for instance CUSTOM_TIER",
    ),
    (
        r"^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$",
        "letters, digits, dashes, underscores and dots, for instance eu-de-1",
    ),
    (
        r"^[^\x00-\x1f\x7f]*$",
        "one line of text without control characters",
    ),
    (
        r"^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$",
        "lower-case letters, digits, dashes and dots, for instance ca.example.com",
    ),
    (
        r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
        "lower-case letters, digits and dashes, for instance pool-a",
    ),
    (
        r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
        "lower-case letters, digits, dashes and dots, for instance pool-a",
    ),
];

/// Returns what texts that match a pattern are written as, where that is known.
pub fn form(pattern: &str) -> Option<&'static str> {
    let known = FORMS.iter().find(|(known, _)| *known == pattern);
    known.map(|(_, form)| *form)
}
