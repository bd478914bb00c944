//! The commands of docs/first-cloud.md.

/// Commands in a block of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// A command of `cargo xtask lab`, which is typed in the checkout.
    Outside(String),
    /// What is typed in the lab's shell.
    Inside(String),
}

/// The blocks of commands of a page, in order: those that begin with `sh`, without the shell itself.
pub fn blocks(page: &str) -> Vec<Block> {
    let blocks = page.split("\n```sh\n").skip(1);
    let blocks = blocks.filter_map(|rest| Some(rest.split_once("\n```")?.0.trim()));
    let typed = blocks.map(|text| match text.starts_with("cargo xtask") {
        true => Block::Outside(text.to_owned()),
        false => Block::Inside(text.to_owned()),
    });
    typed.collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::command::{Command, Options};
    use super::*;

    const PAGE: &str = include_str!("../../../docs/first-cloud.md");

    /// The programs of the lab's shell and of Debian, and a word of the shell itself.
    const PROGRAMS: [&str; 7] = [
        "c5c3",
        "curl",
        "kubectl",
        "mktemp",
        "openstack",
        "rm",
        "until",
    ];

    /// The program that a line runs, in variables' values, too.
    fn program(line: &str) -> &str {
        let value = line.split_once("=$(");
        let command = value.map_or(line, |(_, command)| command);
        let mut words = command.split([' ', ')']);
        words.find(|word| !word.contains('=')).unwrap_or_default()
    }

    #[test]
    fn blocks_have_commands_and_no_output_or_other_languages() {
        let page = "# Page\n\n```sh\ncargo xtask lab up\n```\nIt prints:\n```text\nready\n```\n\n```sh\nkubectl get pods\nc5c3 status\n```\n\
                    ```yaml\na: b\n```\n";
        let expected = [
            Block::Outside("cargo xtask lab up".to_owned()),
            Block::Inside("kubectl get pods\nc5c3 status".to_owned()),
        ];
        assert_eq!(blocks(page), expected);
    }

    #[test]
    fn page_begins_and_ends_with_the_lab_and_has_commands_that_exist() {
        let blocks = blocks(PAGE);
        let outside: Vec<&str> = blocks
            .iter()
            .filter_map(|block| match block {
                Block::Outside(text) => Some(text.as_str()),
                Block::Inside(_) => None,
            })
            .collect();
        assert_eq!(
            outside,
            [
                "cargo xtask lab up",
                "cargo xtask lab shell",
                "cargo xtask lab down"
            ]
        );
        for line in &outside {
            let words = line.split_whitespace().skip(2);
            assert!(Options::try_parse_from(words).is_ok(), "{line}");
        }
        let shell = Options::try_parse_from(["lab", "shell"]).map(|options| options.command);
        let command = Vec::new();
        assert_eq!(shell.unwrap(), Command::Shell { command });

        for block in &blocks {
            let Block::Inside(text) = block else {
                continue;
            };
            // Lines that are indented, and documents, belong to the command before them.
            let document = text.split_once("<<'EOF'\n");
            let commands = document.map_or(text.as_str(), |(commands, _)| commands);
            let mut lines = commands.lines().filter(|line| !line.starts_with(' '));
            let unknown = lines.find(|line| !PROGRAMS.contains(&program(line)));
            assert_eq!(unknown, None, "{text}");
        }
    }

    #[test]
    fn page_waits_for_what_its_commands_need() {
        for (wait, command) in [
            ("openstack volume show", "openstack server add volume"),
            ("--for=condition=Exposed", "OS_CLIENT_CONFIG_FILE="),
            ("--for=delete", "c5c3 status --context control-plane"),
        ] {
            let places = PAGE.find(wait).zip(PAGE.rfind(command));
            let is_first = places.is_some_and(|(wait, command)| wait < command);
            assert!(is_first, "{wait}");
        }
    }
}
