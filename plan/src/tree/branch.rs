//! Text with branches, drawn with lines.

/// Whether text is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// By ANSI sequences.
    Colours,
    /// Not at all.
    Plain,
}

/// What is drawn on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Whether text is coloured.
    pub paint: Paint,
    /// Longest line, in characters; words that are longer stay whole.
    pub width: usize,
}

impl Page {
    /// The width for files and pipes.
    pub const PLAIN: Self = Self {
        paint: Paint::Plain,
        width: 110,
    };
}

/// A line of text, and what belongs to it.
pub struct Branch {
    mark: Mark,
    text: String,
    branches: Vec<Branch>,
}

/// The prefix of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Nothing.
    None,
    /// It is as it should be.
    Good,
    /// It isn't yet.
    Open,
    /// It can't become so.
    Bad,
}

/// So much of a line is for text, however narrow the page is.
const NARROWEST: usize = 24;

impl From<bool> for Mark {
    fn from(ready: bool) -> Self {
        if ready { Self::Good } else { Self::Open }
    }
}

impl Mark {
    /// The sign, and the number of its colour in ANSI's table.
    fn sign(self) -> Option<(&'static str, u8)> {
        match self {
            Self::None => None,
            Self::Good => Some(("✔", 32)),
            Self::Open => Some(("○", 33)),
            Self::Bad => Some(("✘", 31)),
        }
    }
}

/// A text that is safe on a terminal: control characters but line breaks are escaped.
pub fn printable(text: &str) -> String {
    let escaped = |character: char| match character.is_control() && character != '\n' {
        true => character.escape_default().to_string(),
        false => character.to_string(),
    };
    text.chars().map(escaped).collect()
}

impl Branch {
    /// A line without branches.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            mark: Mark::None,
            text: printable(&text.into()),
            branches: Vec::new(),
        }
    }

    /// The same with a mark.
    pub fn marked(mut self, mark: Mark) -> Self {
        self.mark = mark;
        self
    }

    /// The same with more branches.
    pub fn with(mut self, branches: impl Iterator<Item = Branch>) -> Self {
        self.branches.extend(branches);
        self
    }

    /// Adds a branch.
    pub fn add(&mut self, branch: Branch) {
        self.branches.push(branch);
    }

    /// Draws it, with a line break at the end.
    pub fn render(&self, page: Page) -> String {
        let mut out = String::new();
        self.draw(&mut out, "", "", page);
        out
    }

    fn draw(&self, out: &mut String, first: &str, rest: &str, page: Page) {
        let Page { paint, width } = page;
        let has_branches = !self.branches.is_empty();
        let sign = match (self.mark.sign(), paint) {
            (None, _) => String::new(),
            (Some((sign, _)), Paint::Plain) => format!("{sign} "),
            (Some((sign, colour)), Paint::Colours) => format!("\u{1b}[{colour}m{sign}\u{1b}[0m "),
        };
        let indent = if self.mark == Mark::None { 0 } else { 2 };
        let trunk = if has_branches { "│ " } else { "  " };
        let taken = rest.chars().count() + indent + trunk.chars().count();
        let room = width.saturating_sub(taken).max(NARROWEST);
        for (number, line) in wrapped(&self.text, room).enumerate() {
            let line = match paint {
                Paint::Colours if has_branches => format!("\u{1b}[1m{line}\u{1b}[0m"),
                _ => line,
            };
            match number {
                0 => *out += &format!("{first}{sign}{line}\n"),
                _ => *out += &format!("{rest}{trunk}{:indent$}{line}\n", ""),
            }
        }
        for (number, branch) in self.branches.iter().enumerate() {
            let last = number + 1 == self.branches.len();
            let (first, next) = if last {
                ("└─ ", "   ")
            } else {
                ("├─ ", "│  ")
            };
            branch.draw(
                out,
                &format!("{rest}{first}"),
                &format!("{rest}{next}"),
                page,
            );
        }
    }
}

/// The text in lines of at most so many characters, broken between words. Spaces within a line stay.
fn wrapped(text: &str, room: usize) -> impl Iterator<Item = String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => *line += word,
            Some(line) if line.chars().count() + 1 + word.chars().count() <= room => {
                *line += " ";
                *line += word;
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_are_joined_by_lines_and_long_texts_hang() {
        let long = "word ".repeat(30);
        let tree = Branch::new("root").marked(Mark::Good).with(
            [
                Branch::new("one").with([Branch::new(long.trim())].into_iter()),
                Branch::new("two"),
            ]
            .into_iter(),
        );
        let drawn = tree.render(Page::PLAIN);
        let lines: Vec<&str> = drawn.lines().collect();
        assert_eq!(lines[..2], ["✔ root", "├─ one"]);
        assert!(lines[2].starts_with("│  └─ word word"), "{drawn}");
        assert!(lines[3].starts_with("│       word"), "{drawn}");
        assert_eq!(lines[4], "└─ two");
        assert!(
            lines
                .iter()
                .all(|line| line.chars().count() <= Page::PLAIN.width)
        );
    }

    #[test]
    fn a_narrow_page_has_more_lines_and_none_too_long() {
        let long = "word ".repeat(30);
        let tree = Branch::new(long.trim())
            .marked(Mark::Open)
            .with([Branch::new(long.trim()).with([Branch::new("leaf")].into_iter())].into_iter());
        for width in [40, 80, 110] {
            let page = Page {
                width,
                ..Page::PLAIN
            };
            let drawn = tree.render(page);
            assert!(
                drawn.lines().all(|line| line.chars().count() <= width),
                "{drawn}"
            );
            assert_eq!(drawn.matches("word").count(), 60);
        }
        let none = Page {
            width: 0,
            ..Page::PLAIN
        };
        assert!(tree.render(none).contains("word word word"));
    }

    #[test]
    fn colours_come_only_where_they_are_asked_for() {
        let tree = Branch::new("root").marked(Mark::Bad);
        assert_eq!(tree.render(Page::PLAIN), "✘ root\n");
        let coloured = Page {
            paint: Paint::Colours,
            ..Page::PLAIN
        };
        assert_eq!(tree.render(coloured), "\u{1b}[31m✘\u{1b}[0m root\n");
    }
}
