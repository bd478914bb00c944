//! YAML streams, document by document.

use serde_json::Value;
use serde_saphyr::{MessageFormatter, UserMessageFormatter};

/// A document of a stream, not parsed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Document<'a> {
    /// The lines of the stream before it.
    line: u64,
    text: &'a str,
}

/// The documents of a stream. One with directives (`%YAML`) is left whole.
pub fn split(stream: &str) -> Vec<Document<'_>> {
    let mut documents = vec![Document {
        line: 0,
        text: stream,
    }];
    if stream.lines().any(|line| line.starts_with('%')) {
        return documents;
    }
    let mut start = 0;
    let mut position = 0;
    for (line, text) in (0..).zip(stream.split_inclusive('\n')) {
        let begins = text
            .strip_prefix("---")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace));
        if begins {
            let (before, after) = (&stream[start..position], &stream[position..]);
            if let Some(last) = documents.last_mut() {
                last.text = before;
            }
            documents.push(Document { line, text: after });
            start = position;
        }
        position += text.len();
    }
    documents.retain(|document| !document.is_empty());
    documents
}

impl Document<'_> {
    fn is_empty(&self) -> bool {
        let mut lines = self.text.lines();
        lines.all(|line| line.trim_start().is_empty() || line.trim_start().starts_with('#'))
    }

    /// Returns API version and kind where they are written plainly at the start of a line, without parsing the document.
    pub fn head(&self) -> Option<(&str, &str)> {
        let field = |name: &str| {
            let mut lines = self.text.lines();
            let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))?;
            let value = value.split(" #").next()?.trim();
            let plain =
                |character: char| character.is_ascii_alphanumeric() || "./-".contains(character);
            (!value.is_empty() && value.chars().all(plain)).then_some(value)
        };
        Some((field("apiVersion")?, field("kind")?))
    }

    /// Parses the document; one left whole may hold several.
    ///
    /// # Errors
    /// It is not valid YAML: what is wrong, and where in the stream.
    pub fn parse(&self) -> Result<Vec<Value>, String> {
        let mut reader = self.text.as_bytes();
        let documents = serde_saphyr::read::<_, Value>(&mut reader);
        documents
            .filter(|document| !matches!(document, Ok(Value::Null)))
            .collect::<Result<_, _>>()
            .map_err(|error| self.says(error.without_snippet()))
    }

    fn says(&self, error: &serde_saphyr::Error) -> String {
        let message = match error {
            serde_saphyr::Error::Budget { .. } => {
                "it is too large or too deeply nested: split it into several documents".into()
            }
            error => UserMessageFormatter.format_message(error),
        };
        match error.location() {
            Some(at) => format!(
                "{message} at line {}, column {}",
                self.line + at.line(),
                at.column()
            ),
            None => message.into_owned(),
        }
    }
}
