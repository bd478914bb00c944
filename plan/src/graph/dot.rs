//! Graphs for Graphviz (<https://graphviz.org/doc/info/lang.html>).

use super::{Graph, Node, Progress};

/// Graphs as one `digraph`. What follows from other lines is dotted.
pub fn dot(graphs: &[Graph]) -> String {
    let mut out = String::from(
        "digraph {\n  rankdir=LR\n  fontname=\"sans-serif\"\n  \
         node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\"]\n",
    );
    for (graph, number) in graphs.iter().zip(0..) {
        out += &format!(
            "  subgraph cluster_{number} {{\n    label={}\n",
            quoted(&graph.title)
        );
        for node in &graph.nodes {
            out += &vertex(graph, number, node);
        }
        for node in &graph.nodes {
            for need in &node.needs {
                out += &edge(graph, number, node, *need);
            }
        }
        out += "  }\n";
    }
    out + "}\n"
}

fn vertex(graph: &Graph, number: usize, node: &Node) -> String {
    let (fill, line) = match node.progress {
        Progress::Ready => ("#d7f0dc", "#2e7d32"),
        Progress::Coming(_) => ("#fff3cd", "#b8860b"),
        Progress::Held => ("#eeeeee", "#9e9e9e"),
    };
    let label = format!("{}. {}\n{}", node.phase, node.title, graph.says(node));
    format!(
        "    {} [label={}, fillcolor=\"{fill}\", color=\"{line}\"]\n",
        id(number, node),
        quoted(&label)
    )
}

fn edge(graph: &Graph, number: usize, node: &Node, need: usize) -> String {
    let Some(needed) = graph.nodes.get(need) else {
        return String::new();
    };
    let style = match graph.is_implied(node, need) {
        true => " [style=dotted, color=\"#9e9e9e\", constraint=false]",
        false => "",
    };
    format!(
        "    {} -> {}{style}\n",
        id(number, needed),
        id(number, node)
    )
}

fn id(number: usize, node: &Node) -> String {
    quoted(&format!("{number}/{}", node.name))
}

fn quoted(text: &str) -> String {
    let text = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!("\"{text}\"")
}
