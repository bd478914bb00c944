//! Commands that people copy from messages.

/// A text as one argument of a shell: quoted, unless all of it is plain. Tenants choose names that messages repeat.
pub fn argument(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/:=,@%+".contains(&byte);
    match !text.is_empty() && text.bytes().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn argument_is_one_word_of_a_shell() {
        for (text, expected) in [
            ("trait:CUSTOM_TIER=required", "trait:CUSTOM_TIER=required"),
            ("-f=examples/a.yaml", "-f=examples/a.yaml"),
            ("", "''"),
            ("two words", "'two words'"),
            ("a; reboot", "'a; reboot'"),
            ("$(reboot)", "'$(reboot)'"),
            ("a\nreboot", "'a\nreboot'"),
            ("a'; reboot #", r"'a'\''; reboot #'"),
        ] {
            assert_eq!(argument(text), expected);
        }
    }
}
