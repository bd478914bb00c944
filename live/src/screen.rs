//! The output of `status --watch`. Pure.

use std::collections::BTreeMap;

use c5c3_plan::Page;

use crate::snapshot::{Selection, Snapshot};

/// Where it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Screen {
    /// A terminal, on which the tree is drawn over the one before.
    Terminal {
        /// What is drawn on.
        page: Page,
        /// How many lines there are.
        height: usize,
    },
    /// A pipe, which gets a line for each change.
    Lines,
}

/// What the cluster itself is called among the lines.
const CLUSTER: &str = "the cluster";

/// What was shown last, so that only what is new is shown.
#[derive(Debug, Default)]
pub(crate) struct Shown(BTreeMap<String, String>);

impl Shown {
    /// What is to be written now; `trouble` is why nothing new is heard.
    pub(crate) fn next(
        &mut self,
        snapshot: &Snapshot,
        selection: &Selection,
        screen: Screen,
        trouble: Option<&str>,
    ) -> String {
        match screen {
            Screen::Terminal { page, height } => {
                let trouble = trouble.map(|why| format!("✘ {why}; what follows may be old\n"));
                let text = trouble.unwrap_or_default() + &snapshot.tree(selection, page);
                // To the upper left corner; what is left of each line, and of the screen, is cleared: nothing flickers.
                let lines = within(&text, height).join("\u{1b}[K\n");
                format!("\u{1b}[H{lines}\u{1b}[K\u{1b}[J")
            }
            Screen::Lines => self.news(snapshot.lines(selection), trouble),
        }
    }

    fn news(&mut self, mut now: BTreeMap<String, String>, trouble: Option<&str>) -> String {
        if let Some(why) = trouble {
            now.insert(CLUSTER.to_owned(), why.to_owned());
        } else if self.0.contains_key(CLUSTER) {
            now.insert(CLUSTER.to_owned(), "it answers".to_owned());
        }
        let mut news = String::new();
        for (title, state) in &now {
            if self.0.get(title) != Some(state) {
                news += &format!("{title}: {state}\n");
            }
        }
        for title in self.0.keys().filter(|title| !now.contains_key(*title)) {
            news += &format!("{title}: gone\n");
        }
        self.0 = now;
        news
    }
}

/// As many lines as a screen has; the last one says how many more there are.
fn within(text: &str, height: usize) -> Vec<String> {
    let lines = text.lines().map(str::to_owned);
    let mut lines: Vec<String> = lines.collect();
    if lines.len() > height {
        let room = height.saturating_sub(1);
        let left = lines.len() - room;
        lines.truncate(room);
        lines.push(format!(
            "… {left} more lines: give a name, or make the terminal higher"
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(said: &[(&str, &str)]) -> BTreeMap<String, String> {
        let said = said.iter();
        said.map(|(title, state)| ((*title).to_owned(), (*state).to_owned()))
            .collect()
    }

    #[test]
    fn only_what_is_new_gets_a_line() {
        let mut shown = Shown::default();
        let both = lines(&[("A a", "ready"), ("B b", "not ready: 1 of 2")]);
        assert_eq!(
            shown.news(both.clone(), None),
            "A a: ready\nB b: not ready: 1 of 2\n"
        );
        assert_eq!(shown.news(both, None), "");
        let other = lines(&[("B b", "ready")]);
        assert_eq!(shown.news(other, None), "B b: ready\nA a: gone\n");
    }

    #[test]
    fn silence_is_explained_once_and_so_is_its_end() {
        let mut shown = Shown::default();
        let all = lines(&[("A a", "ready")]);
        assert_eq!(shown.news(all.clone(), None), "A a: ready\n");
        let refused = Some("connection refused");
        assert_eq!(
            shown.news(all.clone(), refused),
            "the cluster: connection refused\n"
        );
        assert_eq!(shown.news(all.clone(), refused), "");
        assert_eq!(shown.news(all.clone(), None), "the cluster: it answers\n");
        assert_eq!(shown.news(all, None), "");
    }

    #[test]
    fn a_low_screen_says_what_it_leaves_out() {
        let text = "1\n2\n3\n4\n";
        assert_eq!(within(text, 4), ["1", "2", "3", "4"]);
        let low = within(text, 3);
        assert_eq!(low.len(), 3);
        assert_eq!(low[..2], ["1", "2"]);
        assert!(low[2].starts_with("… 2 more lines"), "{}", low[2]);
        assert_eq!(within(text, 0).len(), 1);
    }

    #[test]
    fn a_terminal_is_drawn_over() {
        let screen = Screen::Terminal {
            page: Page::PLAIN,
            height: 10,
        };
        let mut shown = Shown::default();
        let selection = Selection::default();
        let drawn = shown.next(&Snapshot::default(), &selection, screen, Some("no answer"));
        assert!(drawn.starts_with("\u{1b}[H✘ no answer; what follows may be old\u{1b}[K\n"));
        assert!(drawn.ends_with("\u{1b}[K\u{1b}[J"), "{drawn:?}");
    }
}
