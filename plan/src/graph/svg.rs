//! Graphs for a browser (<https://www.w3.org/TR/SVG2/>).

use super::layout::{Layout, Line, Place};
use super::{Graph, Node, Progress};

/// Size of a box, and what is between boxes.
const WIDTH: usize = 190;
const HEIGHT: usize = 46;
const BETWEEN_COLUMNS: usize = 70;
const BETWEEN_ROWS: usize = 22;
/// Around everything.
const MARGIN: usize = 24;
/// For the title above the boxes.
const TITLE: usize = 40;
/// So many characters fit into a box.
const LETTERS: usize = 28;

const STYLE: &str = "\
text { font: 12px sans-serif; fill: #222 }
.title { font-size: 16px; font-weight: bold }
.name { font-weight: bold }
.line { fill: none; stroke: #777; stroke-width: 1.3 }
rect { stroke-width: 1.5 }
.page { fill: #fff }
.ready { fill: #d7f0dc; stroke: #2e7d32 }
.coming { fill: #fff3cd; stroke: #b8860b }
.held { fill: #eee; stroke: #9e9e9e; stroke-dasharray: 4 3 }
";

/// Graphs as one picture, one below the other.
pub fn svg(graphs: &[Graph]) -> String {
    let mut bodies = String::new();
    let (mut width, mut height) = (0, 0);
    for graph in graphs {
        let layout = Layout::of(graph);
        bodies += &body(graph, &layout, height);
        let columns = layout.columns * (WIDTH + BETWEEN_COLUMNS);
        width = width.max(2 * MARGIN + columns.saturating_sub(BETWEEN_COLUMNS));
        height += MARGIN + TITLE + layout.rows * (HEIGHT + BETWEEN_ROWS);
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\">\n<style>\n{STYLE}</style>\n\
         <defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" \
         orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#777\"/></marker></defs>\n\
         <rect class=\"page\" width=\"100%\" height=\"100%\"/>\n{bodies}</svg>\n"
    )
}

fn body(graph: &Graph, layout: &Layout, top: usize) -> String {
    let title = escaped(&graph.title);
    let y = MARGIN + 8;
    let mut out = format!(
        "<g transform=\"translate(0 {top})\">\n<text class=\"title\" x=\"{MARGIN}\" y=\"{y}\">{title}</text>\n"
    );
    for line in &layout.lines {
        out += &path(line);
    }
    for (node, place) in graph.nodes.iter().zip(&layout.places) {
        out += &boxed(graph, node, *place);
    }
    out + "</g>\n"
}

fn boxed(graph: &Graph, node: &Node, place: Place) -> String {
    let (x, y) = corner(place);
    let class = match node.progress {
        Progress::Ready => "ready",
        Progress::Coming(_) => "coming",
        Progress::Held => "held",
    };
    let (says, title) = (graph.says(node), format!("{}. {}", node.phase, node.title));
    let needs: Vec<&str> = node
        .needs
        .iter()
        .filter_map(|need| Some(graph.nodes.get(*need)?.name.as_str()))
        .collect();
    let needs = match needs.as_slice() {
        [] => "needs nothing".to_owned(),
        needs => format!("needs {}", needs.join(", ")),
    };
    let hint = escaped(&format!("{title}: {says}; {needs}"));
    let (title, says) = (escaped(&short(&title)), escaped(&short(&says)));
    let (middle, first, second) = (x + WIDTH / 2, y + 19, y + 36);
    format!(
        "<g><title>{hint}</title><rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         rx=\"7\"/><text class=\"name\" x=\"{middle}\" y=\"{first}\" text-anchor=\"middle\">{title}</text><text \
         x=\"{middle}\" y=\"{second}\" text-anchor=\"middle\">{says}</text></g>\n"
    )
}

/// A curve from the right side of a box to the left side of another, straight through the columns between.
fn path(line: &Line) -> String {
    let bend = BETWEEN_COLUMNS / 2;
    let mut data = String::new();
    for pair in line.windows(2) {
        let [one, other] = pair else { continue };
        let ((left, from), (right, to)) = (corner(*one), corner(*other));
        let (left, from, to) = (left + WIDTH, from + HEIGHT / 2, to + HEIGHT / 2);
        data += &match data.is_empty() {
            true => format!("M{left} {from}"),
            false => format!("L{left} {from}"),
        };
        data += &format!("C{} {from} {} {to} {right} {to}", left + bend, right - bend);
    }
    format!("<path class=\"line\" d=\"{data}\" marker-end=\"url(#tip)\"/>\n")
}

fn corner(place: Place) -> (usize, usize) {
    let x = MARGIN + place.column * (WIDTH + BETWEEN_COLUMNS);
    let y = MARGIN + TITLE + place.half_row * (HEIGHT + BETWEEN_ROWS) / 2;
    (x, y)
}

/// As much of a text as fits into a box; all of it is in the box's title.
fn short(text: &str) -> String {
    match text.chars().count() > LETTERS {
        true => text.chars().take(LETTERS - 1).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}
