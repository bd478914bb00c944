//! What oslo.config reads of a configuration file.

/// Whether oslo.config accepts a text as the name of a section or an option.
pub(crate) fn is_name(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    text.bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_alphanumeric())
        && text.bytes().all(inner)
}

/// A value so that oslo.config reads it as it is meant: a dollar begins a reference to another option, and quotes around
/// the whole are taken off (<https://docs.openstack.org/oslo.config/latest/reference/configopts.html>).
pub(crate) fn written(value: String) -> String {
    let value = match value.contains('$') {
        true => value.replace('$', "$$"),
        false => value,
    };
    let quoted = ['"', '\'']
        .iter()
        .any(|quote| value.starts_with(*quote) && value.ends_with(*quote));
    match quoted || value.trim() != value {
        true => format!("\"{value}\""),
        false => value,
    }
}
